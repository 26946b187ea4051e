// RUN: dash-opt %s --dash-convert-to-nvvm -split-input-file | FileCheck %s

// A tile is cut unless its lead is from 127 to 640 - 63, and an element hidden unless it is at most 640 behind the first that is
// shown: one comparison of unsigned numbers each. Row 8 of the thread is another than row 0.
// CHECK-LABEL: llvm.func @two_edges
// CHECK:         nvvm.shfl.sync {{ ?}}idx
// CHECK:         %[[AT_END:.+]] = arith.cmpi slt
// CHECK:         %[[FROM_FIRST:.+]] = arith.addi %{{.+}}, %c-127_i32
// CHECK:         %[[IS_CUT:.+]] = arith.cmpi ugt, %[[FROM_FIRST]], %c450_i32
// CHECK:         %[[HIDES:.+]] = arith.ori %[[IS_CUT]], %[[AT_END]] : i1
// CHECK:         scf.if %[[HIDES]]
// CHECK:           %[[FIRST:.+]] = arith.select %{{.+}}, %c1073741824_i32{{.*}}, %{{.+}} : i32
// CHECK:           %[[BEHIND:.+]] = arith.subi %c0_i32{{.*}}, %[[FIRST]] : i32
// CHECK:           %[[IS_HIDDEN:.+]] = arith.cmpi ugt, %[[BEHIND]], %c640_i32
// CHECK:           arith.select %[[IS_HIDDEN]], %{{.+}}, %{{.+}} : f32
// CHECK:           arith.subi %c1_i32{{.*}}, %[[FIRST]] : i32
// CHECK-COUNT-31:  arith.cmpi ugt
// CHECK-NOT:       arith.cmpi ugt
// CHECK:           scf.yield
#rows = #dash.fragment<accumulator, rows by 2>
!Q = tensor<64x64xbf16, #dash.swizzled>
!P = tensor<128x64xf32, #rows>
!CQ = !dash.channel<!Q, tensor<64xf32>, index>
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <window = [640, 0]>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "attention_bwd_order">>} {
  llvm.func @two_edges(%order: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %heads: i32 {dash.parameter = "heads"},
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
        %shown = dash.hide %zeros band(%lead, %c0) mask(<window = [640, 0]>) : !P
        %p = dash.exp2 %shown : !P
      }
    }
    llvm.return
  }
}

// -----

// Where edges are nearer to each other than a tile is wide, one runs through every tile: what the branch asks is a constant, which
// folds it away.
// CHECK-LABEL: llvm.func @edges_in_every_tile
// CHECK:         %[[ALWAYS:.+]] = arith.cmpi slt, %{{.+}}, %c1073741824_i32
// CHECK:         %[[HIDES:.+]] = arith.ori %[[ALWAYS]], %{{.+}} : i1
// CHECK-NEXT:    scf.if %[[HIDES]]
// CHECK-COUNT-32:  arith.cmpi ugt, %{{.+}}, %c140_i32
#rows = #dash.fragment<accumulator, rows by 2>
!Q = tensor<64x64xbf16, #dash.swizzled>
!P = tensor<128x64xf32, #rows>
!CQ = !dash.channel<!Q, tensor<64xf32>, index>
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <window = [100, 40]>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "attention_bwd_order">>} {
  llvm.func @edges_in_every_tile(%order: !llvm.ptr<1> {dash.parameter = "workspace.order"}, %heads: i32 {dash.parameter = "heads"},
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
        %shown = dash.hide %zeros band(%lead, %c0) mask(<window = [100, 40]>) : !P
        %p = dash.exp2 %shown : !P
      }
    }
    llvm.return
  }
}
