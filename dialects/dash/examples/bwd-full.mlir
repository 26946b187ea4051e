// Gradients of full attention, bf16, head dim 128, any sizes: dash-opt bwd-full.mlir --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=shift workers=132 level=run sizes=q:4096,kv:4096,batch:1,heads:16,kv-heads:16' --dash-verify-schedule --dash-report-schedule=format=table
//
// Mask: every row sees every column. All sizes but the head dim are known at run time only; heads may be
// grouped (more query heads than key and value heads). Any strides will do as long as each head's
// row lies in one piece, so [batch, rows, heads, head dim] in memory is passed by its strides.

!tensor = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>  // [batch, heads, rows, head dim]
!per_row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>         // [batch, heads, q rows]

func.func @attention_bwd(%q: !tensor, %k: !tensor, %v: !tensor, %do: !tensor, %o: !tensor,
                         %lse: !per_row, %dq: !tensor, %dk: !tensor, %dv: !tensor, %scale: f32) {
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, o = %o : !tensor, !tensor, !tensor, !tensor, !per_row, !tensor)
      outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)
      mask(<full>) level(run) scale(%scale)
  return
}
