// A consumer goes on while the item that has begun has steps. What follows the loop is its last turn.
// RUN: dash-opt %s --dash-await-items | FileCheck %s --implicit-check-not=dash.num_items
// RUN: sed 's/ begins_ahead//' %s | dash-opt --dash-await-items | FileCheck %s --check-prefix=NOT --implicit-check-not=scf.while

!Q = !dash.channel<tensor<64x128xbf16>, index, index, index, index>

// CHECK-LABEL: func @compute
// CHECK:         %[[TOLD:.+]]:4 = dash.read_indices
// CHECK:         %[[ZERO:.+]] = arith.constant dense<0.000000e+00>
// CHECK:         scf.while (%[[I:.+]] = %{{.+}}, %[[STEPS:.+]] = %[[TOLD]]#0, %[[USES:.+]] = %{{.+}}, %[[S:.+]] = %[[ZERO]])
// CHECK:           %[[IS:.+]] = arith.cmpi sge, %[[STEPS]], %{{.+}} : index
// CHECK-NEXT:      %[[LEFT:.+]]:4 = scf.if %[[IS]]
// CHECK:             %[[I1:.+]] = arith.addi %[[I]], %{{.+}}
// CHECK:             %[[TOLD1:.+]]:4 = dash.read_indices
// CHECK:             %[[USES1:.+]] = arith.addi %[[USES]], %[[STEPS]]
// CHECK:             %[[I2:.+]] = arith.addi %[[I]], %{{.+}}
// CHECK-NEXT:        scf.yield %[[I2]], %[[TOLD1]]#0, %[[USES1]], %[[S]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[SLOT:.+]], %{{.+}} = dash.ring %[[Q:.+]][%[[I]]]
// CHECK-NEXT:        dash.mbarrier_arrive %[[Q]] empty[%[[SLOT]]] by warp
// CHECK-NEXT:        %[[NONE:.+]] = arith.constant dense<0.000000e+00>
// CHECK-NEXT:        scf.yield %[[I]], %[[STEPS]], %[[USES]], %[[NONE]]
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.condition(%[[IS]]) %[[LEFT]]#0, %[[LEFT]]#1, %[[LEFT]]#2, %[[LEFT]]#3
// CHECK:         nvvm.cp.async.bulk.wait_group 0

// NOT:         scf.for
func.func @compute() {
  dash.workers begins_ahead {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 4]) : !Q
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      %slot, %phase = dash.ring %q_tiles[%c0] : !Q
      dash.mbarrier_wait %q_tiles full[%slot] phase(%phase) : !Q
      %told:4 = dash.read_indices %q_tiles[%slot] : !Q -> index, index, index, index
      %s = arith.constant dense<0.0> : tensor<64x128xf32>
      %last:3 = scf.for %i = %c0 to %n step %c1 iter_args(%steps = %told#0, %uses = %c0, %sums = %s) -> (index, index, tensor<64x128xf32>) {
        %this, %this_phase = dash.ring %q_tiles[%i] : !Q
        dash.mbarrier_arrive %q_tiles empty[%this] by warp : !Q
        %next = arith.addi %i, %c1 : index
        %other, %other_phase = dash.ring %q_tiles[%next] : !Q
        dash.mbarrier_wait %q_tiles full[%other] phase(%other_phase) : !Q
        %then:4 = dash.read_indices %q_tiles[%other] : !Q -> index, index, index, index
        %use = arith.addi %uses, %steps : index
        scf.yield %then#0, %use, %sums : index, index, tensor<64x128xf32>
      }
      %end, %end_phase = dash.ring %q_tiles[%n] : !Q
      dash.mbarrier_arrive %q_tiles empty[%end] by warp : !Q
      nvvm.cp.async.bulk.wait_group 0
    }
  }
  return
}
