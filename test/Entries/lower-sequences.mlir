// RUN: dash-opt %s --dash-lower-sequences | FileCheck %s

// One warp reads 32 sequences at a time: numbers of both lists, cut to the tensors' rows.
// CHECK:      llvm.func @list_sequences(%[[Q:.+]]: !llvm.ptr<1> {dash.parameter = "cu_seqlens_q"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "cu_seqlens_kv"}, %{{.+}}: i32 {dash.parameter = "kv_heads"}, %[[ROWS:.+]]: i32 {dash.parameter = "q_rows"}, %{{.+}}: i32 {dash.parameter = "kv_rows"}, %[[COUNT:.+]]: i32 {dash.parameter = "sequences"}, {{.+}} {dash.parameter = "workspace.order"})
// CHECK-SAME:   attributes {dash.entry = #dash.entry<sequences, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
// CHECK:        scf.for %{{.+}} = %{{.+}} to %[[COUNT]] step %c32_i32
// CHECK:          %[[AT:.+]] = llvm.getelementptr %[[Q]]
// CHECK:          %[[NUMBER:.+]] = llvm.load %[[AT]]
// CHECK:          %[[POSITIVE:.+]] = arith.maxsi %[[NUMBER]], %{{.+}} : i32
// CHECK:          arith.minsi %[[POSITIVE]], %[[ROWS]] : i32
//                 A sequence begins at the largest number up to its own.
// CHECK:          nvvm.shfl.sync bfly
// CHECK:          arith.maxsi
//                 Its record, and behind the last sequence what all have together.
// CHECK:          scf.if
// CHECK-COUNT-3:    llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
// CHECK:        scf.if
// CHECK-COUNT-3:    llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
#cu_seqlens_q = #dash.tensor_role<"cu_seqlens_q", side = q, access = read, kind = bounds, element = i32>
#cu_seqlens_kv = #dash.tensor_role<"cu_seqlens_kv", side = kv, access = read, kind = bounds, element = i32>
gpu.module @list_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                                   visit(kv, step) = first + step, turn(kv, q) = kv - first>,
    dash.program = #dash.program<"list"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 132>
      derived [<name = "sequences", expression = "bounds - 1">]
      tensors[<#cu_seqlens_q, shape["bounds"], alignment = 4, stride_multiple = 1>,
              <#cu_seqlens_kv, shape["bounds"], alignment = 4, stride_multiple = 1>]
      order <entry = "list_order">>} {
}

// Of items that own q tiles, units are those of query heads.
// CHECK:      gpu.module @fwd_kernels
// CHECK:      llvm.func @fwd_sequences({{.+}} %[[HEADS:[^ ]+]]: i32 {dash.parameter = "heads"}, %{{.+}}: i32 {dash.parameter = "q_rows"}, {{.+}} {dash.parameter = "workspace.order"})
// CHECK:          arith.extsi %[[HEADS]] : i32 to i64
gpu.module @fwd_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv q_tiles, i mod q_tiles, i), worker(unit) = unit mod workers,
                                   visit(q, step) = first + step>,
    dash.program = #dash.program<"fwd"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 128, kv = 128>, kind = "ascending", level = row, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 1, own = q>
      derived [<name = "sequences", expression = "bounds - 1">]
      tensors[<#cu_seqlens_q, shape["bounds"], alignment = 4, stride_multiple = 1>,
              <#cu_seqlens_kv, shape["bounds"], alignment = 4, stride_multiple = 1>]
      order <entry = "fwd_order">>} {
}

// Where sequences are equal, or stated, there is nothing to read.
// CHECK:      gpu.module @batch_kernels
// CHECK-NOT:  llvm.func
gpu.module @batch_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                                   visit(kv, step) = first + step, turn(kv, q) = kv - first>,
    dash.program = #dash.program<"batch"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 132>
      order <entry = "batch_order">>} {
}
