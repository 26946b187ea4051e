// Gradients of causal attention to 4 sink tokens and a sliding window, bf16, head dim 128: dash-opt bwd-union.mlir --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=synthesized workers=132 sizes=q:4096,heads:16' --dash-verify-schedule --dash-report-schedule
//
// Mask: row i sees the first 4 columns and the column of its own position i + (kv rows - q rows) with the 512 before it, up to that
// position. All sizes but the head dim are known when the order is made, which is a table.

!tensor = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>  // [batch, heads, rows, head dim]
!per_row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>         // [batch, heads, q rows]

func.func @attention_bwd(%q: !tensor, %k: !tensor, %v: !tensor, %do: !tensor, %o: !tensor,
                         %lse: !per_row, %dq: !tensor, %dk: !tensor, %dv: !tensor, %scale: f32) {
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, o = %o : !tensor, !tensor, !tensor, !tensor, !per_row, !tensor)
      outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)
      mask(<causal, union = #dash.union<columns = 4, window = [512, -1]>>) level(run) scale(%scale)
  return
}
