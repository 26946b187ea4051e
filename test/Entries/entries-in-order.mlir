// RUN: dash-opt %s --dash-lower-convert --dash-lower-prepare --dash-lower-order | FileCheck %s

// Entries stand as they are launched, in whatever order passes make them: a manifest lists them so.
// CHECK-LABEL: gpu.module @attention_bwd_kernels
// CHECK:         llvm.func @attention_bwd_order(
// CHECK:         llvm.func @attention_bwd_prepare(
// CHECK:         llvm.func @attention_bwd_main(
// CHECK:         llvm.func @attention_bwd_convert(
func.func @attention_bwd(%o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %delta: memref<?x?x?xf32>,
                         %sum: memref<?x?x?x64xf32>, %dq: memref<?x?x?x64xbf16> {dash.name = "dq"}) {
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  dash.convert %sum to %dq layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                                   visit(kv, step) = first + step, turn(kv, q) = kv>,
    dash.program = #dash.program<"attention_bwd"
      facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
             level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 132>
      order <entry = "attention_bwd_order">>} {
  llvm.func @attention_bwd_main() attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[384, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = true>} {
    llvm.return
  }
}
