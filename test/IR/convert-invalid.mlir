// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func @head_dims_agree(%s: memref<2x4x8x64xf32>, %t: memref<2x4x8x128xbf16>) {
  // expected-error @below {{'dash.convert' op 'source' must have the head dim of 'target', 128, or more, got 64}}
  dash.convert %s to %t : memref<2x4x8x64xf32> to memref<2x4x8x128xbf16>
  return
}

// -----

func.func @batches_agree(%s: memref<2x4x8x64xf32>, %t: memref<3x4x8x64xbf16>) {
  // expected-error @below {{'dash.convert' op 'target' must have the batch of 'source', 2, got 3}}
  dash.convert %s to %t : memref<2x4x8x64xf32> to memref<3x4x8x64xbf16>
  return
}

// -----

func.func @source_is_f32(%s: memref<2x4x8x64xbf16>, %t: memref<2x4x8x64xbf16>) {
  // expected-error @below {{'dash.convert' op operand #0 must be 4D memref of 32-bit float values, but got 'memref<2x4x8x64xbf16>'}}
  dash.convert %s to %t : memref<2x4x8x64xbf16> to memref<2x4x8x64xbf16>
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @stands_outside_items(%q: !T, %k: !T, %v: !T, %s: memref<?x?x?x128xf32>) {
  // expected-note @below {{inside this}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.convert' op stands outside 'dash.items' only: it works on whole tensors}}
    dash.convert %s to %q : memref<?x?x?x128xf32> to !T
  }
  return
}

// -----

// What is added is sums.
func.func @layout_is_that_of_sums(%s: memref<2x4x8x64xf32>, %t: memref<2x4x8x64xbf16>) {
  // expected-error @below {{'dash.convert' op 'layout' must be an accumulator's, got #dash.fragment<per_column, replicated by 2>}}
  dash.convert %s to %t layout(<per_column, replicated by 2>) : memref<2x4x8x64xf32> to memref<2x4x8x64xbf16>
  return
}

// -----

// One piece is the tile.
func.func @pieces_are_several(%s: memref<2x4x8x64xf32>, %t: memref<2x4x8x64xbf16>) {
  // expected-error @below {{'dash.convert' op 'pieces' must be at least 2, got 1}}
  dash.convert %s to %t pieces(1) : memref<2x4x8x64xf32> to memref<2x4x8x64xbf16>
  return
}
