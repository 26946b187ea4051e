// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @scores_are_transposed(%q: !T, %k: !T, %v: !T, %s: tensor<64x128xf32>, %l: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.probability' op 'scores' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128}}
    %p = dash.probability %s, %l at(%seq, %kv, %kv) : (tensor<64x128xf32>, tensor<64xf32>) -> tensor<128x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @lse_is_for_each_q_row(%q: !T, %k: !T, %v: !T, %s: tensor<128x64xf32>, %l: tensor<128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.probability' op 'lse' must have 64 rows, those of a q tile, got 128}}
    %p = dash.probability %s, %l at(%seq, %kv, %kv) : (tensor<128x64xf32>, tensor<128xf32>) -> tensor<128x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @result_has_shape_of_scores(%q: !T, %k: !T, %v: !T, %s: tensor<128x64xf32>, %l: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.probability' op 'result' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128}}
    %p = dash.probability %s, %l at(%seq, %kv, %kv) : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<64x128xf32>
  }
  return
}
