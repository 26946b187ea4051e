// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @rows_are_those_of_a_tile(%q: !T, %k: !T, %v: !T, %t: tensor<96x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.store' op tile must have 64 (q) or 128 (kv) rows, the tiles of its 'dash.items', got 96}}
    dash.store %t, %q[%seq, %kv_head, %kv] : tensor<96x128xf32> -> !T
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @columns_are_the_head_dim(%q: !T, %k: !T, %v: !T, %t: tensor<64x96xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.store' op tile must have as many columns as the head dim of the memref, 128, got 96}}
    dash.store %t, %q[%seq, %kv_head, %kv] : tensor<64x96xf32> -> !T
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @value_is_f32(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.store' op operand #0 must be tile: statically shaped 2D tensor of 32-bit float values, but got 'tensor<64x128xbf16>'}}
    dash.store %t, %q[%seq, %kv_head, %kv] : tensor<64x128xbf16> -> !T
  }
  return
}
