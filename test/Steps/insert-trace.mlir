// What roles wait for and do, between a clock and a record; what stands behind a record begins where it ended. Where a role has
// a turn, it reads clocks, and its records stand behind the turn that is given.
// RUN: dash-opt %s --dash-insert-trace='records=100 every=1' | FileCheck %s
// RUN: dash-opt %s --dash-insert-trace='records=100 every=1' --dash-split-warpgroups --dash-verify-waits -o /dev/null
// RUN: dash-opt %s --dash-insert-trace='level=turns every=1' | FileCheck %s --check-prefix=TURNS --implicit-check-not="trace slot" \
// RUN:   --implicit-check-not=issue --implicit-check-not="trace products" --implicit-check-not=elementwise
// RUN: dash-opt %s --dash-insert-trace=level=items | FileCheck %s --check-prefix=ITEMS --implicit-check-not=since
// RUN: dash-opt %s --dash-insert-trace=level=none | FileCheck %s --check-prefix=NONE --implicit-check-not=dash.trace --implicit-check-not="trace("
// RUN: not dash-opt %s --dash-insert-trace=level=some 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: dash-opt %s --dash-insert-trace | FileCheck %s --check-prefixes=SOME,ALL64
// RUN: dash-opt %s --dash-insert-trace=level=turns | FileCheck %s --check-prefixes=SOME,TURNS4
// WORDS: expected one of none, items, turns, all, found 'some'

// A lane with nothing but items is told how many there are, and counts nothing.
// TURNS:      dash.workers trace(16384)
// TURNS:      dash.role "load-q"
// TURNS-NEXT: dash.trace begin
// TURNS:      %[[COUNT:.*]] = dash.num_items
// TURNS:      dash.trace item numbers(
// TURNS:      dash.trace end numbers(%[[COUNT]])
// TURNS:      %[[ASKED:.*]] = dash.clock
// TURNS-NEXT: dash.acquire_turn
// TURNS-NEXT: %[[TAKEN:.*]] = dash.clock
// TURNS:      %[[ADDED:.*]] = dash.clock
// TURNS-NEXT: nvvm.cp.async.bulk.wait_group 0
// TURNS-NEXT: dash.release_turn
// TURNS-NEXT: %[[GIVEN:.*]] = dash.clock
// TURNS-NEXT: dash.trace turn since(%[[ASKED]]) until(%[[TAKEN]]) numbers(%{{.*}}, %{{.*}})
// TURNS-NEXT: dash.trace given since(%[[ADDED]]) until(%[[GIVEN]]) numbers(
// TURNS:      dash.trace end{{$}}
// TURNS:      dash.role "compute"
// TURNS-NEXT: dash.trace begin
// TURNS:      dash.trace end{{$}}
// ITEMS:      dash.trace item numbers(
// ITEMS:      dash.trace end numbers(
// ITEMS:      dash.role "reduce"
// ITEMS-NEXT: dash.trace begin
// ITEMS:      dash.release_turn
// ITEMS-NOT:  dash.trace given
// ITEMS:      dash.trace end
// NONE:       dash.workers {

// Where not all items are to have records, an item also has one at its end, and what is of no item has none.
// ALL64:      dash.workers trace(16384) trace_every(64) {
// TURNS4:     dash.workers trace(16384) trace_every(4) {
// SOME:       scf.for %[[ITEM:.*]] =
// SOME-NEXT:    dash.trace item numbers(%[[ITEM]])
// SOME:         dash.trace item_end numbers(%[[ITEM]])
// SOME-NEXT:  }
// ALL64-NEXT: dash.trace end{{$}}
// TURNS4-NEXT: dash.trace end numbers(
// SOME:       dash.role "reduce"
// SOME-NEXT:  dash.trace begin
// SOME-NOT:   dash.trace turn
// SOME:       dash.trace end{{$}}

!Q = !dash.channel<tensor<64x128xbf16>>
!DQ = !dash.channel<tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>>
!S = memref<?x?x?x128xf32>
!T = memref<?x?x?x128xbf16>
!sum = tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>
!p = tensor<128x64xbf16, #dash.fragment<operand, rows by 2>>
!tile = tensor<64x128xbf16, #dash.swizzled>
!k = tensor<128x128xbf16, #dash.fragment<operand, rows by 2>>

// CHECK-LABEL: func @roles
func.func @roles(%q: !T, %sums: !S, %at: index, %turn: index) {
  // CHECK: dash.workers trace(100)
  dash.workers {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 8]) : !Q
    %dq_tiles = dash.channel "dq" depth(2) arrivals([8, 1]) : !DQ
    // CHECK: dash.role "load-q"
    // CHECK-NEXT: dash.trace begin
    // CHECK:      scf.for %[[ITEM:.*]] =
    // CHECK-NEXT:   dash.trace item numbers(%[[ITEM]])
    // CHECK:        %[[BEFORE:.*]] = dash.clock
    // CHECK-NEXT:   dash.mbarrier_wait %q_tiles empty
    // CHECK-NEXT:   dash.trace slot_empty of("q") since(%[[BEFORE]]) numbers(%[[ITEM]])
    // CHECK:      dash.trace end
    // CHECK-NEXT: }
    dash.role "load-q" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      scf.for %i = %c0 to %n step %c1 {
        %sequence = dash.band_lead at(%at, %at, %at) mask(<causal>) tiles(<q = 64, kv = 128>)
        %slot, %phase = dash.ring %q_tiles[%i] : !Q
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
        dash.mbarrier_wait %q_tiles empty[%slot] phase(%phase) : !Q
        dash.mbarrier_expect %q_tiles[%slot] bytes(16384) : !Q
        dash.copy_in %q[%at, %at, %at] to %q_tiles[%slot] element(0) : !T to !Q
      }
    }
    // CHECK: dash.role "reduce"
    // CHECK:      %[[ASKED:.*]] = dash.clock
    // CHECK-NEXT: dash.acquire_turn
    // CHECK-NEXT: %[[TURN:.*]] = dash.clock
    // CHECK-NEXT: dash.ring
    // CHECK-NEXT: dash.mbarrier_wait
    // CHECK-NEXT: %[[FULL:.*]] = dash.clock
    // CHECK:      %[[READS:.*]] = dash.clock
    // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
    // CHECK-NEXT: %[[READ:.*]] = dash.clock
    // CHECK-NEXT: dash.mbarrier_arrive
    // CHECK-NEXT: %[[GIVES:.*]] = dash.clock
    // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0{{$}}
    // CHECK-NEXT: dash.release_turn
    // CHECK-NEXT: %[[GIVEN:.*]] = dash.clock
    // CHECK-NEXT: dash.trace turn since(%[[ASKED]]) until(%[[TURN]]) numbers(%[[USE:.*]], %{{.*}})
    // CHECK-NEXT: dash.trace slot_full of("dq") since(%[[TURN]]) until(%[[FULL]]) numbers(%[[USE]])
    // CHECK-NEXT: dash.trace copies since(%[[READS]]) until(%[[READ]]) numbers(%[[USE]])
    // CHECK-NEXT: dash.trace given since(%[[GIVES]]) until(%[[GIVEN]]) numbers(%[[USE]])
    dash.role "reduce" reducer warps(2) {
      dash.acquire_turn %sums[%at, %at, %at] turn(%turn) : !S
      %slot, %phase = dash.ring %dq_tiles[%at] : !DQ
      dash.mbarrier_wait %dq_tiles full[%slot] phase(%phase) : !DQ
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
      dash.bulk_add %dq_tiles[%slot] into %sums[%at, %at, %at] : !DQ into !S
      nvvm.cp.async.bulk.wait_group 0 {read}
      dash.mbarrier_arrive %dq_tiles empty[%slot] by thread : !DQ
      nvvm.cp.async.bulk.wait_group 0
      dash.release_turn %sums[%at, %at, %at] last(%at) : !S
    }
    // CHECK: dash.role "compute"
    // Products that are issued one after the other have one record, and a wait among ops on sums has none.
    // CHECK:      dash.matmul
    // CHECK-NEXT: dash.matmul
    // CHECK-NEXT: %[[ISSUED:.*]] = dash.trace issue of("r*q^T") numbers(%[[USE:.*]])
    // CHECK-NEXT: dash.wgmma_wait
    // CHECK-NEXT: %[[DONE:.*]] = dash.trace products of("r*q^T") since(%[[ISSUED]]) numbers(%[[USE]])
    // CHECK-NEXT: dash.round
    // CHECK-NEXT: dash.wgmma_wait
    // CHECK-NEXT: dash.round
    // CHECK-NEXT: dash.trace elementwise since(%[[DONE]])
    dash.role "compute" consumer warps(8) {
      %k = arith.constant dense<1.0> : !k
      %slot, %phase = dash.ring %q_tiles[%at] : !Q
      dash.mbarrier_wait %q_tiles full[%slot] phase(%phase) : !Q
      %tile = dash.slot_tile %q_tiles[%slot] element(0) : !Q -> !tile
      %first = dash.matmul %k, transpose %tile async : (!k, !tile) -> !sum
      %second = dash.matmul %k, transpose %tile async : (!k, !tile) -> !sum
      %s = dash.wgmma_wait %first pending(1) factors(%k : !k) : !sum -> !sum
      %p = dash.round %s : !sum to !p
      %t = dash.wgmma_wait %second pending(0) factors(%k : !k) : !sum -> !sum
      %r = dash.round %t : !sum to !p
      dash.mbarrier_arrive %q_tiles empty[%slot] by warp : !Q
    }
  }
  return
}
