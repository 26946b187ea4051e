// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @value_is_transposed(%q: !T, %k: !T, %v: !T, %s: tensor<64x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.softcap' op 'value' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128}}
    %r = dash.softcap %s cap(50.0) : tensor<64x128xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @cap_of_zero(%q: !T, %k: !T, %v: !T, %s: tensor<128x64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.softcap' op 'cap' must be a finite number above 0, got 0}}
    %r = dash.softcap %s cap(0.0) : tensor<128x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @negative_cap(%q: !T, %k: !T, %v: !T, %s: tensor<128x64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.softcap' op 'cap' must be a finite number above 0, got -50}}
    %r = dash.softcap %s cap(-50.0) : tensor<128x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @cap_is_a_number(%q: !T, %k: !T, %v: !T, %s: tensor<128x64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.softcap' op 'cap' must be a finite number above 0, got NaN}}
    %r = dash.softcap %s cap(0x7FC00000) : tensor<128x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @infinite_cap(%q: !T, %k: !T, %v: !T, %s: tensor<128x64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.softcap' op 'cap' must be a finite number above 0, got +Inf}}
    %r = dash.softcap %s cap(0x7F800000) : tensor<128x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @probability_is_transposed(%q: !T, %k: !T, %v: !T, %s: tensor<64x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.damp' op 'probability' must be 128x64, rows of a kv tile by rows of a q tile, got 64x128}}
    %r = dash.damp %s, %s : tensor<64x128xf32>
  }
  return
}
