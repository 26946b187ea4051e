// What an op does to slots and sums it says by an interface. One that has nothing to do with them needs none: all checks let it be.
// RUN: dash-opt %s --allow-unregistered-dialect --dash-verify-waits --dash-verify-protocol -o /dev/null
// RUN: dash-opt %s --allow-unregistered-dialect --dash-emit-promela -o /dev/null | FileCheck %s
// CHECK: dash.mbarrier_arrive
// CHECK-NOT: dash.delay
// CHECK-NOT: math.sqrt

!K = !dash.channel<tensor<64x64xbf16, #dash.swizzled>>
!k = tensor<64x64xbf16, #dash.swizzled>
!s = tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>
!T = memref<?x?x?x64xbf16>

func.func @right(%k: !T, %f: f32) {
  %c0 = arith.constant 0 : index
  dash.workers {
    %c = dash.channel "k" depth(1) arrivals([1, 4]) : !K
    dash.role "load" producer warps(1) {
      %slot, %phase = dash.ring %c[%c0] : !K
      dash.mbarrier_wait %c empty[%slot] phase(%phase) : !K
      dash.delay
      dash.mbarrier_expect %c[%slot] bytes(8192) : !K
      dash.copy_in %k[%c0, %c0, %c0] to %c[%slot] element(0) : !T to !K
    }
    dash.role "compute" consumer warps(4) {
      %slot, %phase = dash.ring %c[%c0] : !K
      dash.mbarrier_wait %c full[%slot] phase(%phase) : !K
      dash.delay
      %tile = dash.slot_tile %c[%slot] element(0) : !K -> !k
      %s = dash.matmul %tile, transpose %tile async : (!k, !k) -> !s
      %sums = dash.wgmma_wait %s pending(0) : !s -> !s
      // From another dialect, and without effects: numbers that decide nothing, and tiles that a new op computes.
      %g = math.sqrt %f : f32
      %t = math.sqrt %sums : !s
      dash.mbarrier_arrive %c empty[%slot] by warp : !K
    }
  }
  return
}
