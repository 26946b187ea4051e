// RUN: dash-opt %s -verify-diagnostics -split-input-file

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @q_has_rank_4(%q: memref<8x512x128xbf16>, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'q' must be a memref of rank 4 [batch, heads, rows, head dim], got 'memref<8x512x128xbf16>'}}
  dash.attention_fwd ins(%q, %k, %v : memref<8x512x128xbf16>, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @lse_has_rank_3(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: memref<8x512xf32>) {
  // expected-error @below {{'dash.attention_fwd' op 'lse' must be a memref of rank 3 [batch, heads, q rows], got 'memref<8x512xf32>'}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, memref<8x512xf32>) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @sink_has_rank_1(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row, %sink: memref<1x8xf32>) {
  // expected-error @below {{'dash.attention_fwd' op 'sink' must be a memref of rank 1 [heads], got 'memref<1x8xf32>'}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) sink(%sink : memref<1x8xf32>)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @o_is_strided(%q: !q, %k: !kv, %v: !kv, %o: memref<2x8x512x128xbf16, strided<[1048576, 131072, 256, 2]>>, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'o' must have an innermost stride of 1, got 2}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : memref<2x8x512x128xbf16, strided<[1048576, 131072, 256, 2]>>, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @elements_are_half(%q: memref<2x8x512x128xf32>, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'q' must have bf16 or f16 elements, got 'f32'}}
  dash.attention_fwd ins(%q, %k, %v : memref<2x8x512x128xf32>, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @elements_agree(%q: !q, %k: !kv, %v: memref<2x2x512x128xf16>, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'v' must have elements of the type of 'q', 'bf16', got 'f16'}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, memref<2x2x512x128xf16>) outs(%o, %lse : !q, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @lse_is_f32(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: memref<2x8x512xbf16>) {
  // expected-error @below {{'dash.attention_fwd' op 'lse' must have f32 elements, got 'bf16'}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, memref<2x8x512xbf16>) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @head_dim_is_static(%q: !q, %k: !kv, %v: memref<2x2x512x?xbf16>, %o: memref<2x8x512x?xbf16>, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'v' must have a static head dim}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, memref<2x2x512x?xbf16>) outs(%o, %lse : memref<2x8x512x?xbf16>, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @head_dim_is_a_multiple_of_8(%q: !q, %k: !kv, %v: memref<2x2x512x84xbf16>, %o: memref<2x8x512x84xbf16>, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op head dim of 'v' must be a multiple of 8 up to 256, got 84}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, memref<2x2x512x84xbf16>) outs(%o, %lse : memref<2x8x512x84xbf16>, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @o_has_the_head_dim_of_v(%q: !q, %k: !kv, %v: memref<2x2x512x64xbf16>, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'o' must have the head dim of 'v', 64, got 128}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, memref<2x2x512x64xbf16>) outs(%o, %lse : !q, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @o_has_the_rows_of_q(%q: !q, %k: !kv, %v: !kv, %o: memref<2x8x500x128xbf16>, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'o' must have the rows of 'q', 512, got 500}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : memref<2x8x500x128xbf16>, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @lse_has_the_heads_of_q(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: memref<2x2x512xf32>) {
  // expected-error @below {{'dash.attention_fwd' op 'lse' must have the heads of 'q', 8, got 2}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, memref<2x2x512xf32>) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @heads_are_a_multiple(%q: !q, %k: memref<2x3x512x128xbf16>, %v: memref<2x3x512x128xbf16>, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op heads of 'q' must be a multiple of the heads of 'k', got 8 and 3}}
  dash.attention_fwd ins(%q, %k, %v : !q, memref<2x3x512x128xbf16>, memref<2x3x512x128xbf16>) outs(%o, %lse : !q, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @sink_has_the_heads_of_q(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row, %sink: memref<4xf32>) {
  // expected-error @below {{'dash.attention_fwd' op 'sink' must have the heads of 'q', 8, got 4}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) sink(%sink : memref<4xf32>)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @softcap_is_above_0(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'softcap' must be a finite number above 0, got -1}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) softcap(-1.0)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @a_list_has_a_batch_of_1(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'sequences' needs a batch of 1, got 2}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) sequences(<[512, 512]>)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @o_is_no_input(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op output 'o' must not be the same value as 'q'}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%q, %lse : !q, !row) mask(<causal>) level(row)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @bitmap_covers_the_rows(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'bits' must have 4 rows (kv blocks), for the longest sequence's 512 key rows, got 2}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<blocks = #dash.blocks<q = 128, kv = 128, bits = dense<1> : tensor<2x2xi1>>>) level(row)
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!row = memref<?x?x?xf32>

func.func @stands_outside_items(%q: !T, %k: !T, %v: !T, %o: !T, %lse: !row) {
  // expected-note @below {{inside this}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.attention_fwd' op stands outside 'dash.items' only: it works on whole tensors}}
    dash.attention_fwd ins(%q, %k, %v : !T, !T, !T) outs(%o, %lse : !T, !row) mask(<full>) level(row)
  }
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @pieces_have_rows(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op attribute 'cut' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !q) outs(%o, %lse : !q, !row) mask(<causal>) level(row) cut(0)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @pieces_are_no_longer_than_sequences(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'cut' must be at most 1073741824, got 2147483648}}
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !q) outs(%o, %lse : !q, !row) mask(<causal>) level(row) cut(2147483648)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @some_heads_are_folded(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op attribute 'fold' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !q) outs(%o, %lse : !q, !row) mask(<causal>) level(row) fold(0)
  return
}

// -----

!q = memref<2x12x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x12x512xf32>

func.func @folds_are_powers_of_two(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'fold' must be a power of two from 1 to 64, got 6}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) fold(6)
  return
}

// -----

!q = memref<2x128x512x128xbf16>
!kv = memref<2x1x512x128xbf16>
!row = memref<2x128x512xf32>

func.func @a_warpgroup_has_64_rows(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op 'fold' must be a power of two from 1 to 64, got 128}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) fold(128)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @folded_heads_share_a_kv_head(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op q tiles fold 8 heads, which must divide the query heads of a kv head, got 8 heads over 2}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row) mask(<causal>) level(row) fold(8)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @folds_are_of_bands(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row) {
  // expected-error @below {{'dash.attention_fwd' op folds heads under a mask with a bitmap or a union: only bands are served, so drop the fold}}
  dash.attention_fwd ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %lse : !q, !row)
      mask(<causal, union = #dash.union<columns = 4, window = [8, -1]>>) level(row) fold(4)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!u = memref<2x8x512x128xf32>
!row = memref<2x8x512xf32>

func.func @unrounded_beside_a_cut(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !row, %u: !u) {
  // expected-error @below {{'dash.attention_fwd' op 'unrounded' is the output of keys that are not cut, got a cut of 2048: leave out one of both}}
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !q) outs(%o, %lse : !q, !row) mask(<causal>) level(row) unrounded(%u : !u) cut(2048)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!u = memref<2x8x512x128xf16>
!row = memref<2x8x512xf32>

func.func @unrounded_is_f32(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !row, %u: !u) {
  // expected-error @below {{'dash.attention_fwd' op 'unrounded' must have f32 elements, got 'f16'}}
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !q) outs(%o, %lse : !q, !row) mask(<causal>) level(row) unrounded(%u : !u)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!u = memref<2x8x512x64xf32>
!row = memref<2x8x512xf32>

func.func @unrounded_has_the_head_dim_of_v(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !row, %u: !u) {
  // expected-error @below {{'dash.attention_fwd' op 'unrounded' must have the head dim of 'v', 128, got 64}}
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !q) outs(%o, %lse : !q, !row) mask(<causal>) level(row) unrounded(%u : !u)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!u = memref<2x8x500x128xf32>
!row = memref<2x8x512xf32>

func.func @unrounded_has_the_rows_of_q(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !row, %u: !u) {
  // expected-error @below {{'dash.attention_fwd' op 'unrounded' must have the rows of 'q', 512, got 500}}
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !q) outs(%o, %lse : !q, !row) mask(<causal>) level(row) unrounded(%u : !u)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!u = memref<8x512x128xf32>
!row = memref<2x8x512xf32>

func.func @unrounded_has_a_rank(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !row, %u: !u) {
  // expected-error @below {{'dash.attention_fwd' op 'unrounded' must be a memref of rank 4 [batch, heads, rows, head dim], got 'memref<8x512x128xf32>'}}
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !q) outs(%o, %lse : !q, !row) mask(<causal>) level(row) unrounded(%u : !u)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!u = memref<2x8x512x128xf32, strided<[?, ?, ?, 2]>>
!row = memref<2x8x512xf32>

func.func @unrounded_is_contiguous_in_rows(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !row, %u: !u) {
  // expected-error @below {{'dash.attention_fwd' op 'unrounded' must have an innermost stride of 1, got 2}}
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !q) outs(%o, %lse : !q, !row) mask(<causal>) level(row) unrounded(%u : !u)
  return
}
