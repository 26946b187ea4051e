// RUN: dash-opt %s -verify-diagnostics -split-input-file

!bad = memref<8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @q_has_rank_4(%q: !bad, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'q' must be a memref of rank 4 [batch, heads, rows, head dim], got 'memref<8x512x128xbf16>'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !bad, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!bad = memref<2x8x512x1xf32>

func.func @lse_has_rank_3(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !bad, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'lse' must be a memref of rank 3 [batch, heads, q rows], got 'memref<2x8x512x1xf32>'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !bad, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!bad = memref<2x2x512x128xbf16, affine_map<(d0, d1, d2, d3) -> (d0 floordiv 2, d1, d2, d3)>>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @layout_is_strided(%q: !q, %k: !bad, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'k' must have a strided layout, got 'memref<2x2x512x128xbf16, affine_map<(d0, d1, d2, d3) -> (d0 floordiv 2, d1, d2, d3)>>'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !bad, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!bad = memref<2x2x512x128xbf16, strided<[?, ?, ?, 2]>>
!row = memref<2x8x512xf32>

func.func @inner_stride_is_1(%q: !q, %k: !kv, %v: !bad, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'v' must have an innermost stride of 1, got 2}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !bad, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>
!bad = memref<2x2x512x128xbf16, strided<[?, ?, ?, ?]>>

func.func @inner_stride_is_static(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !bad) {
  // expected-error @below {{'dash.attention_bwd' op 'dv' must have an innermost stride of 1, got a dynamic one}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !bad) mask(<full>) level(run)
  return
}

// -----

!bad = memref<2x8x512x128xf32>
!kv = memref<2x2x512x128xbf16>
!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @elements_are_half(%q: !bad, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'q' must have bf16 or f16 elements, got 'f32'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !bad, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>
!bad = memref<2x2x512x128xf16>

func.func @elements_agree(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !bad, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'dk' must have elements of the type of 'q', 'bf16', got 'f16'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !bad, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!bad = memref<2x8x512xbf16>

func.func @lse_is_f32(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !bad, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'lse' must have f32 elements, got 'bf16'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !bad, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!bad = memref<2x8x512x?xbf16>
!kv = memref<2x2x512x128xbf16>
!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @head_dim_is_static(%q: !bad, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'q' must have a static head dim}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !bad, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!bad = memref<2x8x512x84xbf16>
!kv = memref<2x2x512x128xbf16>
!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @head_dim_is_supported(%q: !bad, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op head dim of 'q' must be a multiple of 8 up to 256, got 84}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !bad, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!bad = memref<2x2x512x264xbf16>
!row = memref<2x8x512xf32>

func.func @head_dim_v_is_supported(%q: !q, %k: !kv, %v: !bad, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op head dim of 'v' must be a multiple of 8 up to 256, got 264}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !bad, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!bad = memref<2x2x512x64xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @head_dims_agree(%q: !q, %k: !bad, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'k' must have the head dim of 'q', 128, got 64}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !bad, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!bad = memref<3x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @batches_agree(%q: !q, %k: !kv, %v: !bad, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'v' must have the batch of 'q', 2, got 3}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !bad, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!bad = memref<2x?x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>
!bad2 = memref<2x4x512x128xbf16>

func.func @heads_agree_where_static(%q: !q, %k: !bad, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !bad2, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'dk' must have the heads of 'v', 2, got 4}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !bad, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !bad2, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!bad = memref<2x8x500xf32>

func.func @rows_agree(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !bad, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'lse' must have the rows of 'q', 512, got 500}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !bad, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!bad = memref<2x2x0x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @sizes_are_positive(%q: !q, %k: !bad, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op rows of 'k' must be at least 1, got 0}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !bad, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!bad = memref<2x3x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @heads_are_grouped(%q: !q, %k: !bad, %v: !bad, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !bad, %dv: !bad) {
  // expected-error @below {{'dash.attention_bwd' op heads of 'q' must be a multiple of the heads of 'k', got 8 and 3}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !bad, !bad, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !bad, !bad) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @sequences_have_batch_1(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'sequences' needs a batch of 1, got 2}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) sequences(<[512, 512]>)
  return
}

// -----

!q = memref<1x8x512x128xbf16>
!kv = memref<1x2x512x128xbf16>
!row = memref<1x8x512xf32>

func.func @sequences_fill_q(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op rows of 'q' must be the sum of the sequences' query rows, 612, got 512}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) sequences(<[512, 500], [100, 12]>)
  return
}

// -----

!q = memref<1x8x512x128xbf16>
!kv = memref<1x2x512x128xbf16>
!row = memref<1x8x512xf32>

func.func @sequences_fill_k(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op rows of 'k' must be the sum of the sequences' key rows, 600, got 512}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) sequences(<[500, 500], [12, 100]>)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @outputs_are_distinct(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op output 'dv' must not be the same value as 'dk'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dk : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @outputs_are_no_inputs(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op output 'dk' must not be the same value as 'k'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %k, %dv : !q, !kv, !kv) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @one_of_o_and_delta(%q: !q, %lse: !row, %dq: !q, %dk: !q, %dv: !q) {
  // expected-error @below {{'dash.attention_bwd' op needs exactly one of 'o' and 'delta', got neither}}
  "dash.attention_bwd"(%q, %q, %q, %q, %lse, %dq, %dk, %dv) <{
    level = #dash.level<run>, mask = #dash.mask<full>,
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0>}>
    : (!q, !q, !q, !q, !row, !q, !q, !q) -> ()
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @not_both_o_and_delta(%q: !q, %lse: !row, %dq: !q, %dk: !q, %dv: !q) {
  // expected-error @below {{'dash.attention_bwd' op needs exactly one of 'o' and 'delta', got both}}
  "dash.attention_bwd"(%q, %q, %q, %q, %lse, %q, %lse, %dq, %dk, %dv) <{
    level = #dash.level<run>, mask = #dash.mask<full>,
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}>
    : (!q, !q, !q, !q, !row, !q, !row, !q, !q, !q) -> ()
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @last_input_is_o_or_delta(%q: !q, %lse: !row, %dq: !q, %dk: !q, %dv: !q) {
  // expected-error @below {{expected 'o = %value' or 'delta = %value'}}
  dash.attention_bwd ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !row, !q)
                     outs(%dq, %dk, %dv : !q, !q, !q) mask(<full>) level(run)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @sink_has_rank_1(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv, %sink: memref<2x8xf32>, %dsink: memref<2x8xf32>) {
  // expected-error @below {{'dash.attention_bwd' op 'sink' must be a memref of rank 1 [heads], got 'memref<2x8xf32>'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) sink(%sink, %dsink : memref<2x8xf32>, memref<2x8xf32>)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @dsink_has_rank_2(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv, %sink: memref<8xf32>, %dsink: memref<8xf32>) {
  // expected-error @below {{'dash.attention_bwd' op 'dsink' must be a memref of rank 2 [batch, heads], got 'memref<8xf32>'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) sink(%sink, %dsink : memref<8xf32>, memref<8xf32>)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @sink_has_a_number_a_head(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv, %sink: memref<2xf32>, %dsink: memref<2x8xf32>) {
  // expected-error @below {{'dash.attention_bwd' op 'sink' must have the heads of 'q', 8, got 2}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) sink(%sink, %dsink : memref<2xf32>, memref<2x8xf32>)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @dsink_has_a_number_a_sequence(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv, %sink: memref<8xf32>, %dsink: memref<1x8xf32>) {
  // expected-error @below {{'dash.attention_bwd' op 'dsink' must have the batch of 'q', 2, got 1}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) sink(%sink, %dsink : memref<8xf32>, memref<1x8xf32>)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @sink_is_f32(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv, %sink: memref<8xbf16>, %dsink: memref<2x8xf32>) {
  // expected-error @below {{'dash.attention_bwd' op 'sink' must have f32 elements, got 'bf16'}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) sink(%sink, %dsink : memref<8xbf16>, memref<2x8xf32>)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @softcap_of_zero(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'softcap' must be a finite number above 0, got 0}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) softcap(0.0)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @negative_softcap(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'softcap' must be a finite number above 0, got -30}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) softcap(-30.0)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!kv = memref<2x2x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @softcap_is_a_number(%q: !q, %k: !kv, %v: !kv, %do: !q,
    %lse: !row, %o: !q, %dq: !q, %dk: !kv, %dv: !kv) {
  // expected-error @below {{'dash.attention_bwd' op 'softcap' must be a finite number above 0, got NaN}}
  dash.attention_bwd
    ins(%q, %k, %v, %do, %lse, o = %o : !q, !kv, !kv, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !kv, !kv) mask(<full>) level(run) softcap(0x7FC00000)
  return
}

// -----

!q = memref<2x8x512x128xbf16>
!row = memref<2x8x512xf32>

func.func @sink_alone(%q: !q, %lse: !row, %dq: !q, %dk: !q, %dv: !q, %sink: memref<8xf32>) {
  // expected-error @below {{'dash.attention_bwd' op 'sink' and 'dsink' come together, got 'sink' alone}}
  "dash.attention_bwd"(%q, %q, %q, %q, %lse, %lse, %dq, %dk, %dv, %sink) <{level = #dash.level<run>, mask = #dash.mask<full>,
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0>}>
    : (!q, !q, !q, !q, !row, !row, !q, !q, !q, memref<8xf32>) -> ()
  return
}

// -----

!q = memref<1x8x512x128xbf16>
!row = memref<1x8x512xf32>

func.func @dsink_has_a_row_for_each_of_a_list(%q: !q, %lse: !row, %dq: !q, %dk: !q, %dv: !q, %sink: memref<8xf32>, %dsink: memref<1x8xf32>) {
  // expected-error @below {{'dash.attention_bwd' op 'dsink' must have a row for each of the 2 sequences, got 1}}
  dash.attention_bwd
    ins(%q, %q, %q, %q, %lse, delta = %lse : !q, !q, !q, !q, !row, !row)
    outs(%dq, %dk, %dv : !q, !q, !q) mask(<full>) level(run) sequences(<[500, 500], [12, 12]>)
    sink(%sink, %dsink : memref<8xf32>, memref<1x8xf32>)
  return
}

// -----

!q = memref<1x8x512x128xbf16>
!row = memref<1x8x512xf32>

func.func @dv_alone(%q: !q, %lse: !row, %dv: !q) {
  dash.attention_bwd
    ins(%q, %q, %q, %q, %lse, delta = %lse : !q, !q, !q, !q, !row, !row)
    // expected-error @below {{expected all gradients, dk and dv, or dq}}
    outs(dv = %dv : !q) mask(<full>) level(run)
  return
}

// -----

!q = memref<1x8x512x128xbf16>
!row = memref<1x8x512xf32>

func.func @dk_alone(%q: !q, %lse: !row, %dk: !q) {
  // expected-error @below {{'dash.attention_bwd' op expected all gradients, dk and dv, or dq}}
  "dash.attention_bwd"(%q, %q, %q, %q, %lse, %lse, %dk) <{level = #dash.level<run>, mask = #dash.mask<full>,
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0>}>
    : (!q, !q, !q, !q, !row, !row, !q) -> ()
  return
}

// -----

!q = memref<1x8x512x128xbf16>
!row = memref<1x8x512xf32>

func.func @dq_has_no_sink(%q: !q, %lse: !row, %dq: !q, %sink: memref<8xf32>, %dsink: memref<1x8xf32>) {
  // expected-error @below {{'dash.attention_bwd' op 'sink' has its gradient beside dk and dv: a program of dq has none}}
  dash.attention_bwd
    ins(%q, %q, %q, %q, %lse, delta = %lse : !q, !q, !q, !q, !row, !row)
    outs(dq = %dq : !q) mask(<full>) level(run) sink(%sink, %dsink : memref<8xf32>, memref<1x8xf32>)
  return
}

// -----

!q = memref<1x8x512x128xbf16>
!o = memref<1x8x512x128xf64>
!row = memref<1x8x512xf32>

func.func @o_is_of_the_type_of_q_or_f32(%q: !q, %o: !o, %lse: !row, %dq: !q, %dk: !q, %dv: !q) {
  // expected-error @below {{'dash.attention_bwd' op 'o' must have elements of the type of 'q', 'bf16', got 'f64'}}
  dash.attention_bwd ins(%q, %q, %q, %q, %lse, o = %o : !q, !q, !q, !q, !row, !o)
      outs(%dq, %dk, %dv : !q, !q, !q) mask(<causal>) level(run)
  return
}

// -----

!q = memref<1x8x512x128xbf16>
!o = memref<1x8x512x64xf32>
!row = memref<1x8x512xf32>

func.func @unrounded_o_has_the_head_dim_of_v(%q: !q, %o: !o, %lse: !row, %dq: !q, %dk: !q, %dv: !q) {
  // expected-error @below {{'dash.attention_bwd' op 'o' must have the head dim of 'v', 128, got 64}}
  dash.attention_bwd ins(%q, %q, %q, %q, %lse, o = %o : !q, !q, !q, !q, !row, !o)
      outs(%dq, %dk, %dv : !q, !q, !q) mask(<causal>) level(run)
  return
}

// -----

!q = memref<1x8x512x128xbf16>
!o = memref<8x512x128xf32>
!row = memref<1x8x512xf32>

func.func @unrounded_o_has_a_rank(%q: !q, %o: !o, %lse: !row, %dq: !q, %dk: !q, %dv: !q) {
  // expected-error @below {{'dash.attention_bwd' op 'o' must be a memref of rank 4 [batch, heads, rows, head dim], got 'memref<8x512x128xf32>'}}
  dash.attention_bwd ins(%q, %q, %q, %q, %lse, o = %o : !q, !q, !q, !q, !row, !o)
      outs(%dq, %dk, %dv : !q, !q, !q) mask(<causal>) level(run)
  return
}

// -----

!q = memref<2x8x512x192xbf16>
!row = memref<2x8x512xf32>

func.func @ds_goes_between_parts(%q: !q, %o: !q, %lse: !row, %dq: !q, %dk: !q, %dv: !q, %ds: memref<?x4096xbf16>) {
  // expected-error @below {{'dash.attention_bwd' op 'ds' goes from a program of dk and dv to one of dq: a program of all gradients has none}}
  dash.attention_bwd
    ins(%q, %q, %q, %q, %lse, o = %o : !q, !q, !q, !q, !row, !q)
    outs(%dq, %dk, %dv : !q, !q, !q) mask(<full>) level(run) ds(%ds : memref<?x4096xbf16>)
  return
}

// -----

!q = memref<2x8x512x192xbf16>
!row = memref<2x8x512xf32>

func.func @ds_has_tiles(%q: !q, %o: !q, %lse: !row, %dq: !q, %ds: memref<?x64xbf16>) {
  // expected-error @below {{'dash.attention_bwd' op 'ds' must be tiles of 4096 numbers, as 'memref<?x4096xbf16>', got 'memref<?x64xbf16>'}}
  dash.attention_bwd
    ins(%q, %q, %q, %q, %lse, o = %o : !q, !q, !q, !q, !row, !q)
    outs(dq = %dq : !q) mask(<full>) level(run) ds(%ds : memref<?x64xbf16>)
  return
}

// -----

!q = memref<2x8x512x192xbf16>
!row = memref<2x8x512xf32>

func.func @ds_goes_with_masks_without_a_left_side(%q: !q, %o: !q, %lse: !row, %dq: !q, %ds: memref<?x4096xbf16>) {
  // expected-error @below {{'dash.attention_bwd' op 'ds' goes with a mask that has no left side and no rules, and with no list of sequences}}
  dash.attention_bwd
    ins(%q, %q, %q, %q, %lse, o = %o : !q, !q, !q, !q, !row, !q)
    outs(dq = %dq : !q) mask(<window = [100, 0]>) level(run) ds(%ds : memref<?x4096xbf16>)
  return
}

// -----

!q = memref<2x8x512x192xbf16>
!row = memref<2x8x512xf32>

func.func @ds_is_no_other_output(%q: !q, %o: !q, %lse: !row, %dk: !q, %ds: memref<?x4096xbf16>) {
  // expected-error @below {{'dash.attention_bwd' op output 'dv' must not be the same value as 'dk'}}
  dash.attention_bwd
    ins(%q, %q, %q, %q, %lse, o = %o : !q, !q, !q, !q, !row, !q)
    outs(dk = %dk, dv = %dk : !q, !q) mask(<full>) level(run) ds(%ds : memref<?x4096xbf16>)
  return
}
