// The body of a loop over items, with records and without. A worker's items 1, 5, 9 and so on have some, or its only one.
// RUN: dash-opt %s --dash-sample-trace | FileCheck %s
// RUN: sed 's/ trace_every(4)//' %s | dash-opt --dash-sample-trace | FileCheck %s --check-prefix=WHOLE --implicit-check-not=scf.if

!C = !dash.channel<tensor<64x128xbf16>>

// CHECK-LABEL: func @roles
// CHECK:       dash.role "load"
// CHECK-NEXT:    dash.trace begin
// CHECK:         %[[USES:.*]] = scf.for %[[ITEM:.*]] = %{{.*}} iter_args(%[[USE:.*]] = %{{.*}}) -> (index) {
// CHECK:           %[[EVERY:.*]] = arith.constant 4 : index
// CHECK:           %[[REST:.*]] = arith.remui %[[ITEM]], %[[EVERY]]
// CHECK:           %[[ONLY:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}}
// CHECK:           %[[PLACE:.*]] = arith.select %[[ONLY]],
// CHECK:           %[[TRACED:.*]] = arith.cmpi eq, %[[REST]], %[[PLACE]]
// CHECK:           %[[NEXT:.*]] = scf.if %[[TRACED]] -> (index) {
// CHECK-NEXT:        dash.trace item numbers(%[[ITEM]])
// CHECK:             %[[BEFORE:.*]] = dash.clock
// CHECK-NEXT:        dash.mbarrier_wait
// CHECK-NEXT:        dash.trace slot_empty of("q") since(%[[BEFORE]])
// CHECK:             dash.trace item_end numbers(%[[ITEM]])
// CHECK:           } else {
// CHECK-NOT:         dash.clock
// CHECK-NOT:         dash.trace
// CHECK:             dash.ring %{{.*}}[%[[USE]]]
// CHECK-NEXT:        dash.mbarrier_wait
// CHECK-NEXT:        %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:        %[[MORE:.*]] = arith.addi %[[USE]], %[[ONE]]
// CHECK-NEXT:        scf.yield %[[MORE]]
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %[[NEXT]] : index
// CHECK:         dash.trace end

// WHOLE:         dash.trace item
// WHOLE:         dash.trace item_end
func.func @roles() {
  dash.workers trace(100) trace_every(4) {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 8]) : !C
    dash.role "load" producer warps(1) {
      %begin = dash.trace begin
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      %uses = scf.for %i = %c0 to %n step %c1 iter_args(%use = %c0) -> (index) {
        %at = dash.trace item numbers(%i)
        %slot, %phase = dash.ring %q_tiles[%use] : !C
        %before = dash.clock
        dash.mbarrier_wait %q_tiles empty[%slot] phase(%phase) : !C
        %waited = dash.trace slot_empty of("q") since(%before) numbers(%use)
        %one = arith.constant 1 : index
        %next = arith.addi %use, %one : index
        %behind = dash.trace item_end numbers(%i)
        scf.yield %next : index
      }
      %end = dash.trace end
    }
  }
  return
}
