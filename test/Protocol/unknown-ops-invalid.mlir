// An op that has a slot or a sum and does not state its effects there is refused by every pass that looks at slots.
// RUN: split-file %s %t
// RUN: not dash-opt %t/channel.mlir --allow-unregistered-dialect --dash-verify-waits 2>&1 | FileCheck %s --check-prefix=CHANNEL
// RUN: not dash-opt %t/channel.mlir --allow-unregistered-dialect --dash-verify-protocol 2>&1 | FileCheck %s --check-prefix=CHANNEL
// RUN: not dash-opt %t/channel.mlir --allow-unregistered-dialect --dash-emit-promela 2>&1 | FileCheck %s --check-prefix=CHANNEL
// CHANNEL: channel.mlir:7:7: error: has a channel and does not say what it does there: the op must have SlotAccessInterface, SyncInterface or SumAccessInterface

//--- channel.mlir
!K = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
func.func @touch() {
  %c0 = arith.constant 0 : index
  dash.workers {
    %c = dash.channel "k" depth(1) arrivals([1, 4]) : !K
    dash.role "compute" consumer warps(4) {
      "test.touch"(%c) : (!K) -> ()
    }
  }
  return
}

// RUN: not dash-opt %t/tile.mlir --allow-unregistered-dialect --dash-verify-waits 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not dash-opt %t/tile.mlir --allow-unregistered-dialect --dash-verify-protocol 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not dash-opt %t/tile.mlir --allow-unregistered-dialect --dash-emit-promela 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: tile.mlir:11:7: error: has a tile that lies in a slot and does not say what it does there: the op must have SlotAccessInterface, SyncInterface or SumAccessInterface

//--- tile.mlir
!K = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!k = tensor<64x64xbf16, #dash.swizzled>
func.func @read() {
  %c0 = arith.constant 0 : index
  dash.workers {
    %c = dash.channel "k" depth(1) arrivals([1, 4]) : !K
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !K
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !K
      %tile = dash.slot_tile %c[%slot] element(0) : !K -> !k
      "test.read"(%tile) : (!k) -> ()
    }
  }
  return
}

// RUN: not dash-opt %t/sums.mlir --allow-unregistered-dialect --dash-verify-waits 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: not dash-opt %t/sums.mlir --allow-unregistered-dialect --dash-verify-protocol 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: not dash-opt %t/sums.mlir --allow-unregistered-dialect --dash-emit-promela 2>&1 | FileCheck %s --check-prefix=SUMS
// SUMS: sums.mlir:6:7: error: has sums that others add to and does not say what it does there: the op must have SlotAccessInterface, SyncInterface or SumAccessInterface

//--- sums.mlir
!F = memref<?x?x?x64xf32>
func.func @add(%dq: !F) {
  %c0 = arith.constant 0 : index
  dash.workers {
    dash.role "reduce" reducer warps(1) {
      "test.add"(%dq) : (!F) -> ()
      dash.acquire_turn %dq[%c0, %c0, %c0] turn(%c0) : !F
    }
  }
  return
}

// What an op says as passes before do is refused, too.
// RUN: not dash-opt %t/numbered.mlir --dash-verify-waits 2>&1 | FileCheck %s --check-prefix=NUMBERED
// RUN: not dash-opt %t/numbered.mlir --dash-verify-protocol 2>&1 | FileCheck %s --check-prefix=NUMBERED
// NUMBERED: numbered.mlir:6:7: error: is no wait and no arrival yet; run --dash-insert-waits first

//--- numbered.mlir
!K = !dash.channel<tensor<64x64xbf16>>
func.func @release(%use: index) {
  dash.workers {
    %c = dash.channel "k" depth(1) arrivals([1, 4]) : !K
    dash.role "compute" consumer warps(4) {
      dash.release %c[%use] : !K
    }
  }
  return
}

// RUN: not dash-opt %t/whole.mlir --dash-verify-waits 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not dash-opt %t/whole.mlir --dash-verify-protocol 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: whole.mlir:5:7: error: is no wait and no arrival yet; run --dash-insert-waits first

//--- whole.mlir
func.func @add(%dq: memref<?x?x?x64xf32>, %turn: index) {
  %t = arith.constant dense<1.0> : tensor<64x64xf32>
  dash.workers {
    dash.role "reduce" reducer warps(1) {
      dash.ordered_reduce %t into %dq[%turn, %turn, %turn] turn(%turn) : tensor<64x64xf32> into memref<?x?x?x64xf32>
    }
  }
  return
}

// RUN: not dash-opt %t/store.mlir --dash-verify-waits 2>&1 | FileCheck %s --check-prefix=STORE
// RUN: not dash-opt %t/store.mlir --dash-verify-protocol 2>&1 | FileCheck %s --check-prefix=STORE
// STORE: store.mlir:5:7: error: is no wait and no arrival yet; run --dash-insert-waits first

//--- store.mlir
func.func @store(%dk: memref<?x?x?x64xbf16>, %tile: index) {
  %t = arith.constant dense<1.0> : tensor<64x64xf32>
  dash.workers {
    dash.role "compute" consumer warps(4) {
      dash.store %t, %dk[%tile, %tile, %tile] : tensor<64x64xf32> -> memref<?x?x?x64xbf16>
    }
  }
  return
}

// The plan's tokens are counted in front of that.
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='workers=132 sizes=q:4096' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers -o %t/plan.mlir
// RUN: sed '/dash.release %%v_tiles/a "test.touch"(%%v_tiles) : (!dash.channel<tensor<128x128xbf16>>) -> ()' %t/plan.mlir > %t/touched.mlir
// RUN: not dash-opt %t/touched.mlir --allow-unregistered-dialect --dash-check-resources 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: sed '/dash.release %%v_tiles/a "test.nothing"() : () -> ()' %t/plan.mlir | dash-opt --allow-unregistered-dialect --dash-check-resources -o /dev/null
// PLAN: touched.mlir:{{[0-9]+}}:1: error: has a channel and does not say what it does there
