// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @result_has_shape_of_value(%q: !T, %k: !T, %v: !T, %p: tensor<128x64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.round' op result must be 128x64, the shape of the value, got 64x128}}
    %r = dash.round %p : tensor<128x64xf32> to tensor<64x128xbf16>
  }
  return
}

// -----

func.func @stands_in_items(%p: tensor<128x64xf32>) {
  // expected-error @below {{'dash.round' op stands inside 'dash.items' only: it works on tiles}}
  %r = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
  return
}
