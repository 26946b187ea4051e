// RUN: dash-opt %s --dash-lower-order --dash-lower-deal --dash-lower-prepare | FileCheck %s
// RUN: dash-opt %s --dash-lower-deal | FileCheck %s --check-prefix=DEAL

// Items leave the one entry in issue order, and the other one deals them.
// CHECK:      llvm.func @list_order(%{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %[[ISSUE:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.issue"}, %{{.+}}: i32 {dash.parameter = "heads"}
// CHECK-SAME:   #dash.entry<order, always, grid["workers", "1", "1"]
// CHECK:        llvm.getelementptr %[[ISSUE]]
// CHECK:      llvm.func @list_deal(

// One block. It reads an item's tasks, and the prices are constants.
// DEAL:       llvm.func @list_deal(%[[ORDER:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %[[ISSUE:.+]]: !llvm.ptr<1> {dash.parameter = "workspace.issue"}, %[[WORKERS:.+]]: i32 {dash.parameter = "workers"})
// DEAL-SAME:    #dash.entry<deal, always, grid["1", "1", "1"], block[1024, 1, 1], cluster[1, 1, 1], shared_bytes = 28816, cooperative = false>
// DEAL:         scf.for
// DEAL:           %[[TASKS:.+]] = arith.muli %{{.+}}, %c8_i64{{.*}} : i64
// DEAL:           arith.addi %[[TASKS]], %c25_i64{{.*}} : i64
//               Rounds until all items of a chunk are dealt: workers by their keys, then as many as come out the same.
// DEAL:           scf.while
// DEAL:             nvvm.shfl.sync bfly
// DEAL:             nvvm.barrier
// DEAL:             llvm.store {{.+}} : vector<2xi32>, !llvm.ptr<1>
//               Where lists begin, and the items.
// DEAL:         scf.if
// DEAL:         scf.for
// DEAL-COUNT-2:   llvm.store {{.+}} : vector<4xi32>, !llvm.ptr<1>
#cu_seqlens_q = #dash.tensor_role<"cu_seqlens_q", side = q, access = read, kind = bounds, element = i32>
#cu_seqlens_kv = #dash.tensor_role<"cu_seqlens_kv", side = kv, access = read, kind = bounds, element = i32>
gpu.module @list_kernels attributes {
    dash.deal = #dash.deal<task = 8, boundary = 25>,
    dash.formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                                   visit(kv, step) = first + step, turn(kv, q) = kv - first>,
    dash.program = #dash.program<"list"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 132>
      derived [<name = "sequences", expression = "bounds - 1">]
      tensors[<#cu_seqlens_q, shape["bounds"], alignment = 4, stride_multiple = 1>,
              <#cu_seqlens_kv, shape["bounds"], alignment = 4, stride_multiple = 1>]
      workspace[<name = "issue", bytes = "40*kv_heads*kv_tiles", alignment = 16, before = any, after = any>]
      order <entry = "list_order">>} {
}
