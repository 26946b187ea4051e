// Gradients of block-sparse causal attention, bf16, head dim 128, sequences of up to 1024 rows: dash-opt bwd-blocks.mlir --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=shift workers=8 sizes=q:1024,heads:16' --dash-verify-schedule --dash-report-schedule
//
// Mask: row i sees column j iff j <= i + (kv rows - q rows) and bits[j floordiv 256][i floordiv 256]
// is set: the first block of columns is seen by all, every other by itself and the next but one.

!tensor = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>  // [batch, heads, rows, head dim]
!per_row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>         // [batch, heads, q rows]

func.func @attention_bwd(%q: !tensor, %k: !tensor, %v: !tensor, %do: !tensor, %o: !tensor,
                         %lse: !per_row, %dq: !tensor, %dk: !tensor, %dv: !tensor, %scale: f32) {
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, o = %o : !tensor, !tensor, !tensor, !tensor, !per_row, !tensor)
      outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)
      mask(<causal, blocks = #dash.blocks<q = 256, kv = 256,
          bits = dense<[[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]]> : tensor<4x4xi1>>>) level(run) scale(%scale)
  return
}
