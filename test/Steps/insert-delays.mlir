// Roles that load or add sleep where they wait; a consumer does not.
// RUN: dash-opt %s --dash-insert-delays | FileCheck %s --implicit-check-not=dash.delay

!Q = !dash.channel<tensor<64x128xbf16>>
!DQ = !dash.channel<tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>>
!S = memref<?x?x?x128xf32>
!T = memref<?x?x?x128xbf16>

// CHECK-LABEL: func @roles
func.func @roles(%q: !T, %sums: !S, %at: index, %turn: index) {
  dash.workers {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 8]) : !Q
    %dq_tiles = dash.channel "dq" depth(2) arrivals([8, 1]) : !DQ
    // CHECK: dash.role "load-q"
    // CHECK:      dash.mbarrier_wait %q_tiles empty
    // CHECK-NEXT: dash.delay
    // CHECK-NEXT: dash.mbarrier_expect
    dash.role "load-q" producer warps(1) {
      %slot, %phase = dash.ring %q_tiles[%at] : !Q
      dash.mbarrier_wait %q_tiles empty[%slot] phase(%phase) : !Q
      dash.mbarrier_expect %q_tiles[%slot] bytes(16384) : !Q
      dash.copy_in %q[%at, %at, %at] to %q_tiles[%slot] element(0) : !T to !Q
    }
    // In its turn, and behind it; what is kept apart is waited for as a slot.
    // CHECK: dash.role "reduce"
    // CHECK:      dash.delay
    // CHECK-NEXT: dash.acquire_turn
    // CHECK:      dash.mbarrier_wait %dq_tiles full
    // CHECK-NEXT: dash.delay
    // CHECK:      nvvm.cp.async.bulk.wait_group 0
    // CHECK-NEXT: dash.delay
    // CHECK-NEXT: dash.release_turn
    // CHECK:      dash.mbarrier_wait %dq_tiles full
    // CHECK-NEXT: dash.delay
    // CHECK-NEXT: dash.bulk_store {{.*}} keep(
    dash.role "reduce" reducer warps(2) {
      dash.acquire_turn %sums[%at, %at, %at] turn(%turn) : !S
      %slot, %phase = dash.ring %dq_tiles[%at] : !DQ
      dash.mbarrier_wait %dq_tiles full[%slot] phase(%phase) : !DQ
      dash.bulk_add %dq_tiles[%slot] into %sums[%at, %at, %at] : !DQ into !S
      nvvm.cp.async.bulk.wait_group 0
      dash.release_turn %sums[%at, %at, %at] last(%at) : !S
      dash.mbarrier_wait %dq_tiles full[%slot] phase(%phase) : !DQ
      dash.bulk_store %dq_tiles[%slot] into %sums[%at, %at, %at] keep(%turn) : !DQ into !S
    }
    // CHECK: dash.role "compute"
    // CHECK:      dash.mbarrier_wait %q_tiles full
    dash.role "compute" consumer warps(8) {
      %slot, %phase = dash.ring %q_tiles[%at] : !Q
      dash.mbarrier_wait %q_tiles full[%slot] phase(%phase) : !Q
    }
  }
  return
}
