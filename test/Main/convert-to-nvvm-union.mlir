// RUN: dash-opt %s --dash-convert-to-nvvm -split-input-file | FileCheck %s

// No tile is of 4 first columns alone, so the edges that are asked for are those of the window; in a tile that is cut each of a thread's
// two columns has the window's width, or that of the band, which has no left side: the largest number.
// CHECK-LABEL: llvm.func @sinks
// CHECK:         %[[AT_END:.+]] = arith.cmpi slt
// CHECK:         %[[ON_WINDOW:.+]] = arith.cmpi ugt, %{{.+}}, %c450_i32
// CHECK:         %[[HIDES:.+]] = arith.ori %[[ON_WINDOW]], %[[AT_END]] : i1
// CHECK:         scf.if %[[HIDES]]
// CHECK:           %[[FIRST:.+]] = arith.cmpi sgt
// CHECK:           %[[WIDTH:.+]] = arith.select %[[FIRST]], %c2147483647_i32{{.*}}, %c640_i32{{.*}} : i32
// CHECK:           arith.cmpi ugt, %{{.+}}, %[[WIDTH]]
// CHECK-COUNT-31:  arith.cmpi ugt
// CHECK-NOT:       arith.cmpi ugt
// CHECK:           scf.yield
#rows = #dash.fragment<accumulator, rows by 2>
!Q = tensor<64x64xbf16, #dash.swizzled>
!P = tensor<128x64xf32, #rows>
!CQ = !dash.channel<!Q, tensor<64xf32>, index>
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal, union = #dash.union<columns = 4, window = [640, -1]>>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "attention_bwd_order">>} {
  llvm.func @sinks(%order: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %heads: i32 {dash.parameter = "heads"},
      %q_rows: i32 {dash.parameter = "q_rows"}, %kv_rows: i32 {dash.parameter = "kv_rows"}, %scale: f32 {dash.parameter = "scale"})
      attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"], block[256, 1, 1],
        cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(168) shared_bytes(66560) {
      %q_tiles = dash.channel "q" depth(2) at([17408, 33792, 64], [8192, 256, 16]) barriers([16, 32])
        arrivals([1, 8]) : !CQ
      dash.role "compute1" consumer warps(4) registers(240) warpgroup(1 of 2) {
        %c0 = arith.constant 0 : index
        %zeros = arith.constant dense<0.0> : !P
        %lead = dash.read_indices %q_tiles[%c0] : !CQ -> index
        %shown = dash.hide %zeros band(%lead, %c0) mask(<causal, union = #dash.union<columns = 4, window = [640, -1]>>) : !P
        %p = dash.exp2 %shown : !P
      }
    }
    llvm.return
  }
}

// -----

// A tile of first columns that all rows see is not masked: tiles 0 and 1 of 300 columns. In a tile that is cut they have an edge far out.
// CHECK-LABEL: llvm.func @prefix
// CHECK:         %[[ON_EDGE:.+]] = arith.cmpi slt, %{{.+}}, %c127_i32
// CHECK:         %[[IS_FIRST:.+]] = arith.cmpi slt, %{{.+}}, %c2_i32
// CHECK:         arith.select %[[IS_FIRST]], %false{{.*}}, %[[ON_EDGE]] : i1
// CHECK:         scf.if
// CHECK:           %[[FURTHER:.+]] = arith.addi %{{.+}}, %c-536870912_i32
// CHECK:           arith.select %{{.+}}, %[[FURTHER]], %{{.+}} : i32
// CHECK-NOT:       arith.cmpi ugt
// CHECK:           scf.yield
#rows = #dash.fragment<accumulator, rows by 2>
!Q = tensor<64x64xbf16, #dash.swizzled>
!P = tensor<128x64xf32, #rows>
!CQ = !dash.channel<!Q, tensor<64xf32>, index>
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <union = #dash.union<columns = 300, window = [-1, 0]>>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "attention_bwd_order">>} {
  llvm.func @prefix(%order: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %heads: i32 {dash.parameter = "heads"},
      %q_rows: i32 {dash.parameter = "q_rows"}, %kv_rows: i32 {dash.parameter = "kv_rows"}, %scale: f32 {dash.parameter = "scale"})
      attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"], block[256, 1, 1],
        cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(168) shared_bytes(66560) {
      %q_tiles = dash.channel "q" depth(2) at([17408, 33792, 64], [8192, 256, 16]) barriers([16, 32])
        arrivals([1, 8]) : !CQ
      dash.role "compute1" consumer warps(4) registers(240) warpgroup(1 of 2) {
        %c0 = arith.constant 0 : index
        %zeros = arith.constant dense<0.0> : !P
        %lead = dash.read_indices %q_tiles[%c0] : !CQ -> index
        %shown = dash.hide %zeros band(%lead, %c0) mask(<union = #dash.union<columns = 300, window = [-1, 0]>>) : !P
        %p = dash.exp2 %shown : !P
      }
    }
    llvm.return
  }
}
