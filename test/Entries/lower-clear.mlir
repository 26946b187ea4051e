// RUN: dash-opt %s --dash-lower-clear | FileCheck %s

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#o = #dash.tensor_role<"o", side = q, access = write, kind = tile, element = bf16, columns = 64>
#lse = #dash.tensor_role<"lse", side = q, access = write, kind = log_row, element = f32>
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = f16, columns = 40, width = 48>
#dsink = #dash.tensor_role<"dsink", side = q, access = write, kind = sequence_head, element = f32>
#cu_seqlens_q = #dash.tensor_role<"cu_seqlens_q", side = q, access = read, kind = bounds, element = i32>
#cu_seqlens_kv = #dash.tensor_role<"cu_seqlens_kv", side = kv, access = read, kind = bounds, element = i32>

// Rows of no sequence are those in front of the first one, and those behind the last one.
// CHECK:      gpu.module @fwd_kernels
// CHECK:        llvm.func @fwd_clear(%[[O:.+]]: !llvm.ptr<1> {dash.parameter = "o"}, %{{.+}}: i64 {dash.parameter = "o.stride.head"}, %[[STRIDE:.+]]: i64 {dash.parameter = "o.stride.row"}, %[[LSE:.+]]: !llvm.ptr<1> {dash.parameter = "lse"}, %{{.+}}: i64 {dash.parameter = "lse.stride.head"}, %[[HEADS:.+]]: i32 {dash.parameter = "heads"}, %[[ROWS:.+]]: i32 {dash.parameter = "q_rows"}, %[[COUNT:.+]]: i32 {dash.parameter = "sequences"}, %{{.+}}: i32 {dash.parameter = "workers"}, %[[ORDER:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.order"})
// CHECK-SAME:     attributes {dash.entry = #dash.entry<clear, asked, grid["workers", "1", "1"], block[512, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
// CHECK:          %[[BEFORE:.+]] = arith.addi %[[COUNT]], %c-1_i32
// CHECK:          arith.maxsi %[[BEFORE]], %c0_i32
// CHECK:          %[[BEGIN:.+]] = arith.subi
// CHECK:          %[[INSIDE:.+]] = arith.subi %{{.+}}, %[[BEGIN]]
// CHECK:          %[[OUTSIDE:.+]] = arith.subi %[[ROWS]], %[[INSIDE]]
//               A warp has a row of o, and its lanes go through the 128 bytes of each head.
// CHECK:          %[[STORES:.+]] = arith.muli %[[HEADS]], %c8_i32
// CHECK:          scf.for %[[NUMBER:.+]] = %{{.+}} to %[[OUTSIDE]] step
// CHECK:            %[[BEHIND:.+]] = arith.addi %[[NUMBER]], %[[INSIDE]]
// CHECK:            %[[IS_BEFORE:.+]] = arith.cmpi slt, %[[NUMBER]], %[[BEGIN]]
// CHECK:            %[[ROW:.+]] = arith.select %[[IS_BEFORE]], %[[NUMBER]], %[[BEHIND]]
// CHECK:            scf.for %{{.+}} = %{{.+}} to %[[STORES]] step %c32_i32
// CHECK:              %[[AT:.+]] = llvm.getelementptr %[[O]]
// CHECK:              llvm.store %{{.+}}, %[[AT]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
//               A thread has a row of the LSE.
// CHECK:          scf.for %{{.+}} = %{{.+}} to %[[OUTSIDE]] step
// CHECK:            scf.for %{{.+}} = %{{.+}} to %[[HEADS]] step %c1_i32
// CHECK:              %[[AT:.+]] = llvm.getelementptr %[[LSE]]
// CHECK:              llvm.store %cst, %[[AT]] {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK-NOT:      llvm.store
gpu.module @fwd_kernels attributes {dash.program = #dash.program<"fwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>, tiles = <q = 128, kv = 128>, kind = "ascending",
           level = row, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 1, own = q>
    derived [<name = "sequences", expression = "bounds - 1">]
    tensors[<#q, shape["batch", "heads", "q_rows", "64"], alignment = 16, stride_multiple = 8>,
            <#o, shape["batch", "heads", "q_rows", "64"], alignment = 16, stride_multiple = 8>,
            <#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#cu_seqlens_q, shape["bounds"], alignment = 4, stride_multiple = 1>,
            <#cu_seqlens_kv, shape["bounds"], alignment = 4, stride_multiple = 1>]
    order <entry = "fwd_order">>} {
}

// Only outputs with rows are cleared, in the columns that they have: five stores of 16 bytes a row.
// CHECK:      gpu.module @bwd_kernels
// CHECK:        llvm.func @bwd_clear(%[[DK:.+]]: !llvm.ptr<1> {dash.parameter = "dk"}, %{{.+}}: i64 {dash.parameter = "dk.stride.head"}, %{{.+}}: i64 {dash.parameter = "dk.stride.row"}, %[[HEADS:.+]]: i32 {dash.parameter = "kv_heads"}, %{{.+}}: i32 {dash.parameter = "kv_rows"}, %{{.+}}: i32 {dash.parameter = "sequences"}, %{{.+}}: i32 {dash.parameter = "workers"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.order"})
// CHECK:          arith.muli %[[HEADS]], %c5_i32
// CHECK-COUNT-1:  llvm.store
// CHECK-NOT:      llvm.store
gpu.module @bwd_kernels attributes {dash.program = #dash.program<"bwd"
    facts <element = f16, head_dim = 40, head_dim_v = 40, mask = <causal>, tiles = <q = 64, kv = 128>, kind = "ascending",
           level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 132>
    derived [<name = "sequences", expression = "bounds - 1">]
    tensors[<#dk, shape["batch", "kv_heads", "kv_rows", "40"], alignment = 16, stride_multiple = 8>,
            <#dsink, shape["sequences", "heads"], alignment = 4, stride_multiple = 1>,
            <#cu_seqlens_q, shape["bounds"], alignment = 4, stride_multiple = 1>,
            <#cu_seqlens_kv, shape["bounds"], alignment = 4, stride_multiple = 1>]
    order <entry = "bwd_order">>} {
}

// Batches, and lists of stated lengths, have a sequence in each row.
// CHECK:      gpu.module @batch_kernels
// CHECK-NOT:  llvm.func
gpu.module @batch_kernels attributes {dash.program = #dash.program<"batch"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>, tiles = <q = 128, kv = 128>, kind = "ascending",
           level = row, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 1, own = q>
    tensors[<#o, shape["batch", "heads", "q_rows", "64"], alignment = 16, stride_multiple = 8>]
    order <entry = "batch_order">>} {
}
