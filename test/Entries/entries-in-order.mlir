// RUN: dash-opt %s --dash-lower-convert --dash-lower-prepare --dash-lower-order | FileCheck %s

#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#delta = #dash.tensor_role<"delta", side = q, access = read, kind = row, element = f32>
#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// Entries stand as they are launched, in whatever order passes make them: a manifest lists them so.
// CHECK-LABEL: gpu.module @attention_bwd_kernels
// CHECK:         llvm.func @attention_bwd_order(
// CHECK:         llvm.func @attention_bwd_prepare(
// CHECK:         llvm.func @attention_bwd_main(
// CHECK:         llvm.func @attention_bwd_convert(
func.func @attention_bwd(%o: memref<?x?x?x64xbf16> {dash.tensor = #o}, %do: memref<?x?x?x64xbf16> {dash.tensor = #do}, %delta: memref<?x?x?xf32> {dash.tensor = #delta},
                         %sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
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
      tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq, shape["batch", "heads", "rows", "columns"], alignment = 16, stride_multiple = 8>]
      order <entry = "attention_bwd_order">>} {
  llvm.func @attention_bwd_main() attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[384, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = true>} {
    llvm.return
  }
}
