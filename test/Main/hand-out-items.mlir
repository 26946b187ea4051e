// Items of one list, which workers draw. The role that loads draws, and tells the other of an item, or that none is left.
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
//                One more slot says that no item is left.
// CHECK:         %[[SLOT:.*]], %[[PHASE:.*]] = dash.ring %[[Q:.*]][%[[END]]#0]
// CHECK-NEXT:    dash.mbarrier_wait %[[Q]] empty[%[[SLOT]]] phase(%[[PHASE]])
// CHECK:         %[[NONE:.*]] = arith.constant -1 : index
// CHECK-NEXT:    dash.write_indices %[[NONE]], %{{.*}} to %[[Q]][%[[SLOT]]]
// CHECK-NEXT:    dash.mbarrier_arrive %[[Q]] full[%[[SLOT]]] by thread
// CHECK:       dash.role "compute"
// CHECK-NOT:     dash.num_items
// CHECK:         scf.while (%[[N3:.*]] = %{{.*}}, %[[USE3:.*]] = %{{.*}}) : (index, index) -> (index, index, index, index, index) {
// CHECK-NEXT:      %[[SLOT3:.*]], %[[PHASE3:.*]] = dash.ring %[[Q]][%[[N3]]]
// CHECK-NEXT:      dash.mbarrier_wait %[[Q]] full[%[[SLOT3]]] phase(%[[PHASE3]])
// CHECK-NEXT:      %[[TOLD:.*]]:2 = dash.read_indices %[[Q]][%[[SLOT3]]]
// CHECK:           %[[IS:.*]] = arith.cmpi sge, %[[TOLD]]#0, %{{.*}}
// CHECK-NEXT:      scf.condition(%[[IS]]) %[[N3]], %[[SLOT3]], %[[TOLD]]#0, %[[TOLD]]#1, %[[USE3]]
// CHECK:         ^bb0(%[[N4:.*]]: index, %[[SLOT4:.*]]: index, %[[STEPS:.*]]: index, %[[HEAD:.*]]: index, %[[USE4:.*]]: index):
// CHECK-NEXT:      dash.slot_tile %[[Q]][%[[SLOT4]]]
// CHECK:           dash.mbarrier_arrive %[[Q]] empty[%[[SLOT4]]] by warp
// CHECK:           arith.addi %[[USE4]], %[[STEPS]]
// CHECK:           arith.muli %[[HEAD]], %[[HEAD]]

// Without the word each worker has a list of its own.
// OWN-LABEL:   func @roles
// OWN:           %[[OWN:.*]] = dash.num_items
// OWN:           scf.for %{{.*}} = %{{.*}} to %[[OWN]]
func.func @roles() {
  dash.workers hands_out {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 4]) : !C
    dash.role "load" producer warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
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
    }
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%use = %c0) -> (index) {
        %slot, %phase = dash.ring %q_tiles[%i] : !C
        dash.mbarrier_wait %q_tiles full[%slot] phase(%phase) : !C
        %tile = dash.slot_tile %q_tiles[%slot] element(0) : !C -> tensor<64x128xbf16, #dash.swizzled>
        %told:2 = dash.read_indices %q_tiles[%slot] : !C -> index, index
        dash.mbarrier_arrive %q_tiles empty[%slot] by warp : !C
        %next = arith.addi %use, %told#0 : index
        %other = arith.muli %told#1, %told#1 : index
        scf.yield %next : index
      }
    }
  }
  return
}
