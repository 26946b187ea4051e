// RUN: dash-opt %s -verify-diagnostics -split-input-file

!O = memref<2x4x8x64xbf16>
!DO = memref<2x4x8x64xf16>
!R = memref<2x4x8xf32>

func.func @elements_agree(%o: !O, %do: !DO, %delta: !R) {
  // expected-error @below {{'dash.delta' op 'd_out' must have elements of the type of 'o', 'bf16', got 'f16'}}
  dash.delta ins(%o, %do : !O, !DO) outs(%delta : !R)
  return
}

// -----

!O = memref<2x4x8x64xbf16>
!DO = memref<2x4x8x128xbf16>
!R = memref<2x4x8xf32>

func.func @head_dims_agree(%o: !O, %do: !DO, %delta: !R) {
  // expected-error @below {{'dash.delta' op 'd_out' must have the head dim of 'o', 64, got 128}}
  dash.delta ins(%o, %do : !O, !DO) outs(%delta : !R)
  return
}

// -----

!O = memref<2x4x8x64xbf16>
!R = memref<2x4x9xf32>

func.func @rows_agree(%o: !O, %do: !O, %delta: !R) {
  // expected-error @below {{'dash.delta' op 'delta' must have the rows of 'o', 8, got 9}}
  dash.delta ins(%o, %do : !O, !O) outs(%delta : !R)
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @stands_outside_items(%q: !T, %k: !T, %v: !T, %s: memref<?x?x?xf32>) {
  // expected-note @below {{inside this}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.delta' op stands outside 'dash.items' only: it works on whole tensors}}
    dash.delta ins(%q, %q : !T, !T) outs(%s : memref<?x?x?xf32>)
  }
  return
}
