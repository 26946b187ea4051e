// The forward of a causal mask, for any sizes: O, and the LSE that the backward takes.
!q = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!kv = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @attention_fwd(%q: !q, %k: !kv, %v: !kv, %o: !q, %lse: !row, %scale: f32) {
  dash.attention_fwd
    ins(%q, %k, %v : !q, !kv, !kv)
    outs(%o, %lse : !q, !row)
    mask(<causal>) level(row) scale(%scale)
  return
}
