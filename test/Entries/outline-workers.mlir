// RUN: dash-opt %s --dash-outline-workers | FileCheck %s

// One entry for all roles, with what the launch needs. It takes no tensors: descriptors say where they are.
// CHECK-LABEL: func.func @attention_bwd
// CHECK-NOT:     dash.workers
// CHECK:       gpu.module @attention_bwd_kernels
// CHECK-NOT:     contributions
// CHECK:         llvm.func @attention_bwd_main(%{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.lse2"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.delta"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.dq_sum"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.turns"}, %{{.+}}: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %{{.+}}: i32 {dash.parameter = "heads"}, %{{.+}}: i32 {dash.parameter = "q_rows"}, %{{.+}}: i32 {dash.parameter = "kv_rows"}, %[[SCALE:.+]]: f32 {dash.parameter = "scale"})
// CHECK-SAME:      dash.entry = #dash.entry<main, always, grid["workers", "1", "1"], block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 33792, cooperative = true>

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#delta = #dash.tensor_role<"delta", side = q, access = read, kind = row, element = f32>
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 128>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 128>
#scale = #dash.tensor_role<"scale", side = q, access = read, kind = number, element = f32>
// Memory has its role inside; a constant comes along.
// CHECK-DAG:     %[[Q:.+]] = dash.tensor #q : memref<?x?x?x128xbf16>
// CHECK-DAG:     %[[LSE:.+]] = dash.tensor #lse : memref<?x?x?xf32>
// CHECK-DAG:     %[[DELTA:.+]] = dash.tensor #delta : memref<?x?x?xf32>
// CHECK-DAG:     %[[DQ:.+]] = dash.tensor #dq_sum : memref<?x?x?x128xf32>
// CHECK-DAG:     %[[DK:.+]] = dash.tensor #dk : memref<?x?x?x128xbf16>
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : index
// CHECK:         dash.workers
// CHECK:         dash.copy_in %[[Q]][%[[ZERO]], %[[ZERO]], %[[ZERO]]]
// CHECK:         dash.copy_in %[[LSE]]
// CHECK:         dash.copy_in %[[DELTA]]
// CHECK:         dash.bulk_add {{.*}} into %[[DQ]]
// CHECK:         dash.round {{.*}}scale(%[[SCALE]])
// CHECK:         dash.copy_out {{.*}} to %[[DK]]
// CHECK:         llvm.return
!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
!S = memref<?x?x?x128xf32>
!CQ = !dash.channel<tensor<64x128xbf16>, tensor<64xf32>, tensor<64xf32>>
!CD = !dash.channel<tensor<64x128xf32>>

func.func @attention_bwd(%q: !T {dash.tensor = #q}, %lse: !R {dash.tensor = #lse}, %delta: !R {dash.tensor = #delta}, %dk: !T {dash.tensor = #dk},
                         %dq: !T {dash.tensor = #dq}, %scale: f32 {dash.tensor = #scale}, %rows: index) {
  %sum = memref.alloc(%rows, %rows, %rows) : !S
  %zero = arith.constant 0 : index
  dash.workers registers(168) shared_bytes(33792) {
    %q_tiles = dash.channel "q" depth(1) at([1024, 32, 64], [16384, 256, 256]) barriers([0, 8]) arrivals([1, 8]) : !CQ
    %dq_tiles = dash.channel "dq" depth(1) at([1024], [32768]) barriers([16, 24]) arrivals([8, 1]) : !CD
    dash.role "load-q" producer warps(1) registers(24) {
      dash.copy_in %q[%zero, %zero, %zero] to %q_tiles[%zero] element(0) : !T to !CQ
      dash.copy_in %lse[%zero, %zero, %zero] to %q_tiles[%zero] element(1) : !R to !CQ
      dash.copy_in %delta[%zero, %zero, %zero] to %q_tiles[%zero] element(2) : !R to !CQ
    }
    dash.role "reduce" reducer warps(2) registers(24) {
      dash.bulk_add %dq_tiles[%zero] into %sum[%zero, %zero, %zero] : !CD into !S
    }
    dash.role "compute" consumer warps(4) registers(240) {
      %sums = arith.constant dense<0.0> : tensor<64x128xf32>
      %rounded = dash.round %sums scale(%scale) : tensor<64x128xf32> to tensor<64x128xbf16>
      dash.copy_out %q_tiles[%zero] element(0) to %dk[%zero, %zero, %zero] slice(0) : !CQ to !T
    }
  }
  dash.convert %sum to %dq : !S to !T
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq, shape["batch", "heads", "rows", "columns"], alignment = 16, stride_multiple = 8>]
    maps[<#q, rows = 64, panels = 2>, <#dk, rows = 64, panels = 1>]
    order <entry = "attention_bwd_order">>} {
}

// Contributions are kept in a region of their own. A worker that waits for no other needs no cooperative launch.
// CHECK-LABEL: gpu.module @keeps_kernels
// CHECK-SAME:    workspace[<name = "contributions", bytes = "batch*heads*q_tiles*kv_tiles*32768", alignment = 128, before = any, after = any>]
// CHECK:         llvm.func @keeps_main
// CHECK-SAME:    %{{[^,]+}}: !llvm.ptr<1> {dash.parameter = "workspace.contributions"})
// CHECK-SAME:    cooperative = false
func.func @keeps(%dq: !T {dash.tensor = #dq}, %rows: index) {
  %sum = memref.alloc(%rows, %rows, %rows) : !S
  %zero = arith.constant 0 : index
  dash.workers registers(168) shared_bytes(33792) {
    %dq_tiles = dash.channel "dq" depth(1) at([1024], [32768]) barriers([16, 24]) arrivals([8, 1]) : !CD
    dash.role "reduce" reducer warps(1) registers(24) {
      dash.bulk_store %dq_tiles[%zero] into %sum[%zero, %zero, %zero] keep(%zero) : !CD into !S
    }
  }
  dash.convert %sum to %dq : !S to !T
  return
}
gpu.module @keeps_kernels attributes {dash.program = #dash.program<"keeps"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 1>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq, shape["batch", "heads", "rows", "columns"], alignment = 16, stride_multiple = 8>]
    order <entry = "keeps_order">>} {
}

// Workers that draw tickets start in order: they need no cooperative launch, and no more shared memory: the plan keeps a word for the ticket.
// CHECK-LABEL: gpu.module @draws_kernels
// CHECK:         llvm.func @draws_main
// CHECK-SAME:    %{{[^,]+}}: !llvm.ptr<1> {dash.parameter = "workspace.tickets"})
// CHECK-SAME:    shared_bytes = 33792, cooperative = false
// CHECK:         dash.workers registers(168) shared_bytes(33792)
func.func @draws(%dq: !T {dash.tensor = #dq}, %rows: index) {
  %sum = memref.alloc(%rows, %rows, %rows) : !S
  %zero = arith.constant 0 : index
  dash.workers registers(168) shared_bytes(33792) {
    %dq_tiles = dash.channel "dq" depth(1) at([1024], [32768]) barriers([16, 24]) arrivals([8, 1]) : !CD
    dash.role "reduce" reducer warps(1) registers(24) {
      dash.bulk_store %dq_tiles[%zero] into %sum[%zero, %zero, %zero] : !CD into !S
    }
  }
  dash.convert %sum to %dq : !S to !T
  return
}
gpu.module @draws_kernels attributes {dash.program = #dash.program<"draws"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "file", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 4>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq, shape["batch", "heads", "rows", "columns"], alignment = 16, stride_multiple = 8>]
    workspace[<name = "tickets", bytes = "4", alignment = 16, before = zero, after = zero>]
    order <entry = "draws_order">>} {
}

// Where sums are rounded while others grow, each block lets the next launch begin.
// CHECK-LABEL: gpu.module @tells_kernels
// CHECK:         llvm.func @tells_main
// CHECK:         nvvm.griddepcontrol launch_dependents
// CHECK:         dash.workers registers(168) shared_bytes(33792)
func.func @tells(%dq: !T {dash.tensor = #dq}, %rows: index) {
  %sum = memref.alloc(%rows, %rows, %rows) : !S
  %zero = arith.constant 0 : index
  dash.workers registers(168) shared_bytes(33792) {
    %dq_tiles = dash.channel "dq" depth(1) at([1024], [32768]) barriers([16, 24]) arrivals([8, 1]) : !CD
    dash.role "reduce" reducer warps(1) registers(24) {
      dash.bulk_store %dq_tiles[%zero] into %sum[%zero, %zero, %zero] : !CD into !S
      dash.release_turn %sum[%zero, %zero, %zero] last(%zero) signals_completion : !S
    }
  }
  dash.convert %sum to %dq awaits_completion : !S to !T
  return
}
gpu.module @tells_kernels attributes {dash.program = #dash.program<"tells"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 132,
           overlaps_rounding = true>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>,
            <#dq, shape["batch", "heads", "rows", "columns"], alignment = 16, stride_multiple = 8>]
    order <entry = "tells_order">>} {
}
