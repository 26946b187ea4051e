// RUN: dash-opt %s --dash-convert-to-nvvm | FileCheck %s

// Several consumers: each has named barriers of its own, two for each of its warpgroups, in the order of roles. The first ones pass the
// tensor core on, and the others are for the threads of one warpgroup.
// CHECK-LABEL: llvm.func @consumers
// CHECK:         dash.role "dv0"
// CHECK-NOT:       nvvm.barrier
// CHECK:           nvvm.barrier id = %c2_i32{{.*}} number_of_threads = %c128_i32
// CHECK-NOT:       nvvm.barrier
// CHECK:         dash.role "dk0"
// CHECK:           nvvm.barrier id = %c3_i32{{.*}} number_of_threads = %c256_i32
// CHECK:           nvvm.barrier id = %c5_i32{{.*}} number_of_threads = %c128_i32
// CHECK:           barrier.cta.arrive.aligned.count"(%c4_i32{{.*}}, %c256_i32
// CHECK:         dash.role "dk1"
// CHECK:           nvvm.barrier id = %c4_i32{{.*}} number_of_threads = %c256_i32
// CHECK:           nvvm.barrier id = %c6_i32{{.*}} number_of_threads = %c128_i32
// CHECK:           barrier.cta.arrive.aligned.count"(%c3_i32{{.*}}, %c256_i32
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    maps[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, rows = 64, panels = 1>] order <entry = "attention_bwd_order">>} {
  llvm.func @consumers(%maps: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"},
                       %order: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %heads: i32 {dash.parameter = "heads"},
                       %q_rows: i32 {dash.parameter = "q_rows"}, %kv_rows: i32 {dash.parameter = "kv_rows"})
      attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"], block[512, 1, 1],
        cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(128) shared_bytes(66560) {
      dash.role "load" producer warps(4) registers(24) {
        %items = dash.num_items
      }
      dash.role "dv0" consumer warps(4) registers(160) warpgroup(0 of 1) {
        dash.take_tensor_core
        dash.sync_warpgroup
        dash.give_tensor_core
      }
      dash.role "dk0" consumer warps(4) registers(160) warpgroup(0 of 2) {
        dash.take_tensor_core
        dash.sync_warpgroup
        dash.give_tensor_core
      }
      dash.role "dk1" consumer warps(4) registers(160) warpgroup(1 of 2) {
        dash.take_tensor_core
        dash.sync_warpgroup
        dash.give_tensor_core
      }
    }
    llvm.return
  }
}
