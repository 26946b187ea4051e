// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @probability_is_transposed(%q: !T, %k: !T, %v: !T, %p: tensor<64x128xf32>, %g: tensor<128x64xf32>, %d: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.score_gradient' op 'probability' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128}}
    %r = dash.score_gradient %p, %g, %d : (tensor<64x128xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @gradient_has_shape_of_probability(%q: !T, %k: !T, %v: !T, %p: tensor<128x64xf32>, %g: tensor<64x64xf32>, %d: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.score_gradient' op 'gradient' must be 128x64, rows of a kv tile by rows of a q tile, got 64x64}}
    %r = dash.score_gradient %p, %g, %d : (tensor<128x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<128x64xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @delta_is_for_each_q_row(%q: !T, %k: !T, %v: !T, %p: tensor<128x64xf32>, %g: tensor<128x64xf32>, %d: tensor<128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.score_gradient' op 'delta' must have 64 rows, those of a q tile, got 128}}
    %r = dash.score_gradient %p, %g, %d : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<128x64xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @result_has_shape_of_probability(%q: !T, %k: !T, %v: !T, %p: tensor<128x64xf32>, %g: tensor<128x64xf32>, %d: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.score_gradient' op 'result' must be 128x64, rows of a kv tile by rows of a q tile, got 64x64}}
    %r = dash.score_gradient %p, %g, %d : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<64x64xbf16>
  }
  return
}
