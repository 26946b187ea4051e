// A slot that one turn waits for and the next reads is followed around the loop and behind it.
// RUN: dash-opt %s --dash-verify-waits | FileCheck %s

!K = !dash.channel<tensor<128x128xbf16, #dash.swizzled>>
!k = tensor<128x128xbf16, #dash.swizzled>
!s = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

// CHECK-LABEL: func @ahead
// CHECK: dash.mbarrier_arrive
func.func @ahead(%n: index) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      // The slot of the first turn is waited for ahead; each turn waits for that of the next.
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      scf.for %step = %c0 to %n step %c1 {
        %next = arith.addi %step, %c1 : index
        %here, %p0 = dash.ring %k_tiles[%step] : !K
        %k = dash.slot_tile %k_tiles[%here] element(0) : !K -> !k
        %s = dash.matmul %k, transpose %k async : (!k, !k) -> !s
        %there, %p1 = dash.ring %k_tiles[%next] : !K
        dash.mbarrier_wait %k_tiles full[%there] phase(%p1) : !K
        %k1 = dash.slot_tile %k_tiles[%there] element(0) : !K -> !k
        // Adds to sums in flight.
        %s1 = dash.matmul %k1, transpose %k1 accumulate(%s) async : (!k, !k) -> !s
        %none = dash.wgmma_wait %s1 pending(0) : !s -> !s
        dash.mbarrier_arrive %k_tiles empty[%here] by warp : !K
      }
      // Behind the loop the slot that its last turn has waited for is still held.
      %last, %p2 = dash.ring %k_tiles[%n] : !K
      dash.mbarrier_arrive %k_tiles empty[%last] by warp : !K
    }
  }
  return
}

// A factor that has been loaded into registers outlives its slot.
// CHECK-LABEL: func @loaded
// CHECK: dash.matmul
func.func @loaded() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    %v_tiles = dash.channel "v" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %slot, %phase = dash.ring %k_tiles[%c0] : !K
      dash.mbarrier_wait %k_tiles full[%slot] phase(%phase) : !K
      %k = dash.slot_tile %k_tiles[%slot] element(0) : !K -> !k
      %rows = dash.load_factor %k : !k -> !p
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      dash.mbarrier_arrive %k_tiles empty[%slot] by warp : !K
      %there, %p1 = dash.ring %v_tiles[%c0] : !K
      dash.mbarrier_wait %v_tiles full[%there] phase(%p1) : !K
      %v = dash.slot_tile %v_tiles[%there] element(0) : !K -> !k
      %s = dash.matmul %rows, transpose %v async : (!p, !k) -> !s
      %sums = dash.wgmma_wait %s pending(0) factors(%rows : !p) : !s -> !s
      dash.mbarrier_arrive %v_tiles empty[%there] by warp : !K
    }
  }
  return
}

// What leaves goes through slots that the role fills later: one of them is written again when it is read, another one at once.
// CHECK-LABEL: func @borrowed
// CHECK: dash.copy_out
func.func @borrowed(%n: index, %p: !p, %out: memref<?x?x?x128xbf16>) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(3) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %item = %c0 to %n step %c1 {
        // The item before has written into any slot.
        nvvm.cp.async.bulk.wait_group 0 {read}
        dash.sync_warpgroup
        %slot, %phase = dash.ring %ds_tiles[%item] : !K
        dash.mbarrier_wait %ds_tiles empty[%slot] phase(%phase) : !K
        dash.store_fragment %p to %ds_tiles[%slot] element(0) : !p to !K
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        dash.mbarrier_arrive %ds_tiles full[%slot] by warp : !K
        dash.mbarrier_wait %ds_tiles full[%slot] phase(%phase) : !K
        dash.mbarrier_arrive %ds_tiles empty[%slot] by warp : !K
        %next = arith.addi %item, %c1 : index
        %there, %p1 = dash.ring %ds_tiles[%next] : !K
        dash.mbarrier_wait %ds_tiles empty[%there] phase(%p1) borrows : !K
        dash.store_fragment %p to %ds_tiles[%there] element(0) slice(0) : !p to !K
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        dash.sync_warpgroup
        dash.copy_out %ds_tiles[%there] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to memref<?x?x?x128xbf16>
        %behind = arith.addi %next, %c1 : index
        %far, %p2 = dash.ring %ds_tiles[%behind] : !K
        dash.mbarrier_wait %ds_tiles empty[%far] phase(%p2) borrows : !K
        dash.store_fragment %p to %ds_tiles[%far] element(0) slice(0) : !p to !K
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        dash.sync_warpgroup
        dash.copy_out %ds_tiles[%far] element(0) to %out[%c0, %c0, %c0] slice(0) : !K to memref<?x?x?x128xbf16>
      }
      nvvm.cp.async.bulk.wait_group 0
    }
  }
  return
}
