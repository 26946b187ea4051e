module {
  gpu.module @attention_bwd_kernels attributes {dash.program = {name = "attention_bwd", program = {
      head_dim = 128 : i64, tiles = {q = 64 : i64, kv = 128 : i64}, mask = "causal", deterministic = true}}} {
  }
  func.func @attention_bwd(%sum: memref<?x?x?x128xf32>, %dq: memref<?x?x?x128xbf16>, %scale: f32) {
    dash.convert %sum to %dq scale(%scale) : memref<?x?x?x128xf32> to memref<?x?x?x128xbf16>
    return
  }
  gpu.module @small_kernels attributes {dash.program = {name = "small", program = {
      head_dim = 64 : i64, tiles = {q = 128 : i64, kv = 128 : i64}, mask = "full", deterministic = true}}} {
  }
  func.func @small(%sum: memref<?x?x?x64xf32>, %dq: memref<?x?x?x64xbf16>) {
    dash.convert %sum to %dq : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
    return
  }
}
