// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func @rows_agree(%op: memref<1x12x5x64xf32>, %lp: memref<1x12x5xf32>, %o: memref<1x4x6x64xf16>, %lse: memref<1x4x6xf32>) {
  // expected-error @below {{'dash.combine' op 'o_pieces' must have the rows of 'o', 6, got 5}}
  dash.combine %op, %lp into %o, %lse cut(64) : memref<1x12x5x64xf32>, memref<1x12x5xf32> into memref<1x4x6x64xf16>, memref<1x4x6xf32>
  return
}

// -----

func.func @pieces_agree(%op: memref<1x12x5x64xf32>, %lp: memref<1x8x5xf32>, %o: memref<1x4x5x64xf16>, %lse: memref<1x4x5xf32>) {
  // expected-error @below {{'dash.combine' op 'lse_pieces' must have the heads of 'o_pieces', 12, got 8}}
  dash.combine %op, %lp into %o, %lse cut(64) : memref<1x12x5x64xf32>, memref<1x8x5xf32> into memref<1x4x5x64xf16>, memref<1x4x5xf32>
  return
}

// -----

func.func @pieces_have_all_heads(%op: memref<1x12x5x64xf32>, %lp: memref<1x12x5xf32>, %o: memref<1x8x5x64xf16>, %lse: memref<1x8x5xf32>) {
  // expected-error @below {{'dash.combine' op heads of 'o_pieces' must be a multiple of the heads of 'o', got 12 and 8}}
  dash.combine %op, %lp into %o, %lse cut(64) : memref<1x12x5x64xf32>, memref<1x12x5xf32> into memref<1x8x5x64xf16>, memref<1x8x5xf32>
  return
}

// -----

func.func @pieces_have_all_columns(%op: memref<1x12x5x64xf32>, %lp: memref<1x12x5xf32>, %o: memref<1x4x5x128xf16>, %lse: memref<1x4x5xf32>) {
  // expected-error @below {{'dash.combine' op 'o_pieces' must have the head dim of 'o', 128, or more, got 64}}
  dash.combine %op, %lp into %o, %lse cut(64) : memref<1x12x5x64xf32>, memref<1x12x5xf32> into memref<1x4x5x128xf16>, memref<1x4x5xf32>
  return
}

// -----

func.func @sink_is_of_heads(%op: memref<1x12x5x64xf32>, %lp: memref<1x12x5xf32>, %sink: memref<12xf32>, %o: memref<1x4x5x64xf16>, %lse: memref<1x4x5xf32>) {
  // expected-error @below {{'dash.combine' op 'sink' must have the heads of 'lse', 4, got 12}}
  dash.combine %op, %lp sink(%sink : memref<12xf32>) into %o, %lse cut(64) : memref<1x12x5x64xf32>, memref<1x12x5xf32> into memref<1x4x5x64xf16>, memref<1x4x5xf32>
  return
}

// -----

func.func @pieces_have_rows(%op: memref<1x12x5x64xf32>, %lp: memref<1x12x5xf32>, %o: memref<1x4x5x64xf16>, %lse: memref<1x4x5xf32>) {
  // expected-error @below {{'dash.combine' op attribute 'cut' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  dash.combine %op, %lp into %o, %lse cut(0) : memref<1x12x5x64xf32>, memref<1x12x5xf32> into memref<1x4x5x64xf16>, memref<1x4x5xf32>
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @stands_outside_items(%q: !T, %k: !T, %v: !T, %op: memref<?x?x?x128xf32>, %row: memref<?x?x?xf32>) {
  // expected-note @below {{inside this}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.combine' op stands outside 'dash.items' only: it works on whole tensors}}
    dash.combine %op, %row into %q, %row cut(128) : memref<?x?x?x128xf32>, memref<?x?x?xf32> into !T, memref<?x?x?xf32>
  }
  return
}
