// RUN: dash-opt %s --dash-lower-roles | FileCheck %s --implicit-check-not=dash.channel --implicit-check-not=dash.role --implicit-check-not=dash.workers

// One thread initialises the barriers, two a slot, for as many arrivals as the channel says; all others wait.
// CHECK-LABEL: llvm.func @main
// CHECK-DAG:     %[[BASE:[^ ]+]] = llvm.ptrtoint %{{.+}} : !llvm.ptr<3> to i32
// CHECK-DAG:     %[[THREAD:[^ ]+]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"()
// CHECK:         %[[OWN:[^ ]+]] = arith.shrui %[[THREAD]], %c5_i32{{.*}}
// CHECK:         %[[WARP:[^ ]+]] = nvvm.shfl.sync {{ ?}}idx %{{.+}}, %[[OWN]]
// CHECK:         %[[IS_FIRST:[^ ]+]] = arith.cmpi eq, %[[THREAD]], %c0_i32{{.*}}
// CHECK:         scf.if %[[IS_FIRST]] {
// CHECK-COUNT-4:   nvvm.mbarrier.init
// CHECK-NEXT:      nvvm.fence.mbarrier.init
// CHECK-NEXT:      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT:    }
// CHECK-NEXT:    nvvm.barrier

// The warps of the first warpgroup give registers away, those that have no role too.
// CHECK:         %[[IN_GROUP:[^ ]+]] = arith.cmpi ult, %{{.+}}, %c4_i32{{.*}}
// CHECK:         scf.if %[[IN_GROUP]] {
// CHECK:           nvvm.setmaxregister {{ ?}}decrease 24
// A producer is one thread of its warp.
// CHECK:           %[[IS_LOADER:[^ ]+]] = arith.cmpi ult, %{{.+}}, %c1_i32{{.*}}
// CHECK:           scf.if %[[IS_LOADER]] {
// CHECK:             %[[LANE:[^ ]+]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.laneid"()
// CHECK:             %[[IN_LANE:[^ ]+]] = arith.cmpi eq, %[[LANE]], %c0_i32{{.*}}
// CHECK:             scf.if %[[IN_LANE]] {
// CHECK:               arith.constant 11 : i32
// Reducers know which of the role's warps they are.
// CHECK:           %[[IS_REDUCER:[^ ]+]] = arith.cmpi ult, %{{.+}}, %c2_i32{{.*}}
// CHECK:           scf.if %[[IS_REDUCER]] {
// CHECK:             scf.if
// CHECK:               %[[PLACE:[^ ]+]] = arith.subi %[[WARP]], %c1_i32{{.*}}
// CHECK:               %[[INDEX:[^ ]+]] = arith.index_cast %[[PLACE]] : i32 to index
// CHECK:               arith.addi %[[INDEX]], %[[INDEX]]

// The others have more. A consumer is all lanes of its warps.
// CHECK:         arith.subi %[[WARP]], %c4_i32{{.*}}
// CHECK:         nvvm.setmaxregister {{ ?}}increase 240
// CHECK:         arith.subi %[[WARP]], %c4_i32{{.*}}
// CHECK-NOT:     laneid
// CHECK:         arith.constant 12 : i32
// CHECK:         arith.subi %[[WARP]], %c8_i32{{.*}}
// CHECK:         nvvm.setmaxregister {{ ?}}increase 240
// CHECK-NOT:     laneid
// CHECK:         arith.constant 13 : i32
// CHECK:         llvm.return
gpu.module @kernels {
  llvm.func @main() attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(168) shared_bytes(33792) {
      %tiles = dash.channel "tiles" depth(2) at([1024], [16384]) barriers([0, 16]) arrivals([1, 8])
        : !dash.channel<tensor<64x128xbf16>>
      dash.role "load" producer warps(1) registers(24) {
        %body = arith.constant 11 : i32
      }
      dash.role "reduce" reducer warps(2) registers(24) {
        %warp = dash.warp_of_role
        %twice = arith.addi %warp, %warp : index
      }
      dash.role "compute0" consumer warps(4) registers(240) warpgroup(0 of 2) {
        %body = arith.constant 12 : i32
      }
      dash.role "compute1" consumer warps(4) registers(240) warpgroup(1 of 2) {
        %body = arith.constant 13 : i32
      }
    }
    llvm.return
  }
}

// Where indices are drawn, the same thread draws the worker's, before the others go on; the last worker leaves zero.
// CHECK-LABEL: llvm.func @draws
// CHECK-SAME:    (%[[TICKETS:[^ ]+]]: !llvm.ptr<1>
// CHECK-COUNT-2:   nvvm.mbarrier.init
// CHECK:           %[[BLOCKS:[^ ]+]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.nctaid.x"()
// CHECK:           %[[LAST:[^ ]+]] = arith.subi %[[BLOCKS]], %c1_i32{{.*}}
// CHECK:           %[[DRAWN:[^ ]+]] = llvm.inline_asm {{.*}}"atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;"{{.*}} %[[TICKETS]], %[[LAST]]
// CHECK:           llvm.store %[[DRAWN]], %{{.+}} : i32, !llvm.ptr<3>
// CHECK-NEXT:    }
// CHECK-NEXT:    nvvm.barrier
gpu.module @tickets {
  llvm.func @draws(%tickets: !llvm.ptr<1> {dash.parameter = "workspace.tickets"}) attributes {dash.entry = #dash.entry<main, always,
      grid["workers", "1", "1"], block[128, 1, 1], cluster[1, 1, 1], shared_bytes = 33808, cooperative = false>} {
    dash.workers registers(168) shared_bytes(33792) {
      %tiles = dash.channel "tiles" depth(1) at([1024], [16384]) barriers([0, 8]) arrivals([1, 4])
        : !dash.channel<tensor<64x128xbf16>>
      dash.role "load" producer warps(1) registers(24) {
        %body = arith.constant 14 : i32
      }
    }
    llvm.return
  }
}
