// Items of one list, which workers draw. The role that loads draws; the item behind the last one says that no item is left.
// RUN: dash-opt %s --dash-hand-out-items | FileCheck %s
// RUN: sed 's/ hands_out//' %s | dash-opt --dash-hand-out-items | FileCheck %s --check-prefix=OWN --implicit-check-not=scf.while --implicit-check-not=draw_item

!C = !dash.channel<tensor<64x128xbf16>, index, index>

// CHECK-LABEL: func @roles
// CHECK:       dash.role "load"
// CHECK:         %[[FIRST:.*]] = dash.draw_item first
// CHECK-NEXT:    %[[END:.*]]:3 = scf.while (%[[N:.*]] = %{{.*}}, %[[PLACE:.*]] = %[[FIRST]], %[[USE:.*]] = %{{.*}}) : (index, index, index) -> (index, index, index) {
// CHECK-NEXT:      %[[ALL:.*]] = dash.num_items
// CHECK-NEXT:      %[[LEFT:.*]] = arith.cmpi slt, %[[PLACE]], %[[ALL]]
// CHECK-NEXT:      scf.condition(%[[LEFT]]) %[[N]], %[[PLACE]], %[[USE]]
// CHECK:         ^bb0(%[[N1:.*]]: index, %[[PLACE1:.*]]: index, %[[USE1:.*]]: index):
// CHECK-NEXT:      dash.read_item[%[[PLACE1]]]
// CHECK:           dash.ring %{{.*}}[%[[N1]]]
//                  The next one is drawn when all of this one is on its way.
// CHECK:           %[[USES:.*]] = scf.for
// CHECK:           %[[N2:.*]] = arith.addi %[[N1]], %{{.*}}
// CHECK-NEXT:      %[[NEXT:.*]] = dash.draw_item{{$}}
// CHECK-NEXT:      scf.yield %[[N2]], %[[NEXT]], %[[USES]]
//                The item behind the last has the number that the loop has counted to.
// CHECK:         dash.ring %{{.*}}[%[[END]]#0]

// Without the word each worker has a list of its own.
// OWN-LABEL:   func @roles
// OWN:           %[[OWN:.*]] = dash.num_items
// OWN:           scf.for %{{.*}} = %{{.*}} to %[[OWN]]
func.func @roles() {
  dash.workers hands_out begins_ahead {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %none = arith.constant -1 : index
      %n = dash.num_items
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%use = %c0) -> (index) {
        %seq, %head, %q, %first_head, %first_visit, %visits, %rounds = dash.read_item[%i]
        %slot, %phase = dash.ring %q_tiles[%i] : !C
        dash.mbarrier_wait %q_tiles empty[%slot] phase(%phase) : !C
        dash.write_indices %visits, %head to %q_tiles[%slot] : !C
        dash.mbarrier_expect %q_tiles[%slot] bytes(16384) : !C
        %uses = scf.for %step = %c0 to %visits step %c1 iter_args(%at = %use) -> (index) {
          %next = arith.addi %at, %c1 : index
          scf.yield %next : index
        }
        scf.yield %uses : index
      }
      %slot, %phase = dash.ring %q_tiles[%n] : !C
      dash.mbarrier_wait %q_tiles empty[%slot] phase(%phase) : !C
      dash.write_indices %none, %c0 to %q_tiles[%slot] : !C
      dash.mbarrier_expect %q_tiles[%slot] bytes(16384) : !C
    }
  }
  return
}
