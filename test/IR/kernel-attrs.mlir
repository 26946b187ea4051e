// RUN: dash-opt %s | FileCheck %s
// RUN: dash-opt %s --mlir-print-op-generic | dash-opt | FileCheck %s
// RUN: dash-opt %s --emit-bytecode | dash-opt | FileCheck %s

#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#lsef32 = #dash.tensor_role<"lse", side = q, access = write, kind = log_row, element = f32>
// A module of kernels, what it says of itself, and an entry of it.
// CHECK-LABEL: gpu.module @bwd_kernels attributes {
// CHECK-SAME:    dash.formulas = #dash.formulas<
// CHECK:         dash.program = #dash.program<"bwd" facts <element = bf16, head_dim = 64, head_dim_v = 128, mask = <causal>, tiles = <q = 64, kv = 128>, kind = "any words", level = machine, deterministic = false, parts = 1, workers = 8, width = 4, min_workers = 2>
// CHECK-SAME:      sizes[<name = "batch", min = 1, max = 65535>, <name = "q_rows", min = 64, max = 64>]
// CHECK-SAME:      constraints[<expression = "q_rows % 64", equals = 0, message = "not whole">]
// CHECK-SAME:      derived[<name = "q_tiles", expression = "ceildiv(q_rows, 64)">]
// CHECK-SAME:      tensors[<#q, shape["batch", "q_rows", "64"], alignment = 16, stride_multiple = 8>, <#lse{{[0-9]*}}, shape["batch"], alignment = 4, stride_multiple = 1>]
// CHECK-SAME:      maps[<#q, rows = 64, panels = 1>, <#q, rows = 64, panels = 2, bytes = 64>]
// CHECK-SAME:      workspace[<name = "turns", bytes = "4*batch", alignment = 16, before = zero, after = zero>, <name = "order", bytes = "64", alignment = 16, before = entry, after = any>]
// CHECK-SAME:      order <entry = "bwd_order">>
gpu.module @bwd_kernels attributes {
  dash.formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                                 visit(kv, step) = step, turn(kv, q) = kv>,
  dash.program = #dash.program<"bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 128, mask = <causal>, tiles = <q = 64, kv = 128>, kind = "any words",
           level = machine, deterministic = false, parts = 1, workers = 8, width = 4, min_workers = 2>
    sizes[<name = "batch", min = 1, max = 65535>, <name = "q_rows", min = 64, max = 64>]
    constraints[<expression = "q_rows % 64", equals = 0, message = "not whole">]
    derived[<name = "q_tiles", expression = "ceildiv(q_rows, 64)">]
    tensors[<#q, shape["batch", "q_rows", "64"], alignment = 16, stride_multiple = 8>,
             <#lsef32, shape["batch"], alignment = 4, stride_multiple = 1>]
    maps[<#q, rows = 64, panels = 1, bytes = 128>, <#q, rows = 64, panels = 2, bytes = 64>]
    workspace[<name = "turns", bytes = "4*batch", alignment = 16, before = zero, after = zero>,
               <name = "order", bytes = "64", alignment = 16, before = entry, after = any>]
    order <entry = "bwd_order">>} {
  // CHECK: llvm.func @bwd_order(%{{.+}}: i32 {dash.parameter = "workers"}) attributes {dash.entry = #dash.entry<order, sizes_change, grid["workers", "1", "1"], block[32, 2, 1], cluster[1, 1, 1], shared_bytes = 64, cooperative = true>}
  llvm.func @bwd_order(%workers: i32 {dash.parameter = "workers"})
      attributes {dash.entry = #dash.entry<order, sizes_change, grid["workers", "1", "1"], block[32, 2, 1],
                                           cluster[1, 1, 1], shared_bytes = 64, cooperative = true>} {
    llvm.return
  }
}

// Lists may be empty; an order may be a table.
// CHECK-LABEL: gpu.module @table_kernels
// CHECK-SAME:    dash.order_buffer = dense<0> : tensor<8xi32>, dash.program = #dash.program<"table" facts <{{.+}}> order <file = "dash-opt PROGRAM", search <version = 1, budget = 131072, dq_limit = 0>, cost <compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>>>
gpu.module @table_kernels attributes {
  dash.order_buffer = dense<0> : tensor<8xi32>,
  dash.program = #dash.program<"table"
    facts <element = f16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "file",
           level = run, deterministic = true, parts = 1, workers = 1, width = 1, min_workers = 1>
    order <file = "dash-opt PROGRAM", search <version = 1, budget = 131072, dq_limit = 0>,
           cost <compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>>>} {
}

// What else stands on other dialects' ops.
// CHECK: func.func @program(%{{.+}}: memref<8xf32> {dash.shape = array<i64: 8>, dash.tensor = #{{.+}}}) attributes {dash.problem = #dash.problem<
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 128]>>
func.func @program(%lse: memref<8xf32> {dash.shape = array<i64: 8>, dash.tensor = #lse})
    attributes {dash.problem = #problem} {
  return
}
// CHECK: func.func @two_programs() attributes {dash.problem = [#dash.problem<{{.+}}>, #dash.problem<{{.+}}>]}
func.func @two_programs() attributes {dash.problem = [#problem, #problem]} {
  return
}
// CHECK: gpu.binary @binary {dash.manifest = "{}", dash.order_buffer = dense<0> : tensor<8xi32>}
gpu.binary @binary {dash.manifest = "{}", dash.order_buffer = dense<0> : tensor<8xi32>} [#gpu.object<#nvvm.target, "">]
