module {
  gpu.module @attention_bwd_kernels attributes {dash.program = {name = "attention_bwd", program = {
      head_dim = 128 : i64, tiles = {q = 64 : i64, kv = 128 : i64}, mask = "causal", deterministic = true}}} {
  }
  func.func @attention_bwd(%o: memref<?x?x?x128xbf16>, %do: memref<?x?x?x128xbf16>, %delta: memref<?x?x?xf32>,
                           %sum: memref<?x?x?x128xf32>) {
    dash.delta ins(%o, %do : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>) outs(%delta : memref<?x?x?xf32>)
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%sum : memref<?x?x?x128xf32>)
    return
  }
  gpu.module @small_kernels attributes {dash.program = {name = "small", program = {
      head_dim = 64 : i64, tiles = {q = 128 : i64, kv = 128 : i64}, mask = "full", deterministic = false}}} {
  }
  func.func @small(%o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %delta: memref<?x?x?xf32>) {
    dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
    return
  }
}
