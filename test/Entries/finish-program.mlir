// RUN: dash-opt %s --dash-finish-program | FileCheck %s --implicit-check-not=memref --implicit-check-not=dash.schedule

#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// What is left of a lowered function allocates what is the workspace now; its order went into the kernels.
// CHECK:      module {
// CHECK-NEXT:   gpu.module @attention_bwd_kernels
// CHECK:        func.func @other
module {
  dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
             sequences = <[64, 128]>>)
    cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)
  func.func @attention_bwd(%dq: memref<1x1x?x64xbf16> {dash.tensor = #dq}) {
    %c2 = arith.constant 2 : index
    %rows = memref.dim %dq, %c2 : memref<1x1x?x64xbf16>
    %sum = memref.alloc(%rows) : memref<1x1x?x64xf32>
    memref.dealloc %sum : memref<1x1x?x64xf32>
    return
  }
  gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
  }
  func.func @other() {
    return
  }
}
