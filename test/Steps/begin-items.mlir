// The next item begins behind the last product of this one. What it begins with goes around the loop.
// RUN: dash-opt %s --dash-begin-items --canonicalize | FileCheck %s
// RUN: sed 's/ begins_ahead//' %s | dash-opt --dash-begin-items | FileCheck %s --check-prefix=NOT

!Q = !dash.channel<tensor<64x128xbf16>, index>
!K = !dash.channel<tensor<128x128xbf16>, index>
!V = !dash.channel<tensor<128x128xbf16>>

// CHECK-LABEL: func @compute
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK:         %[[N:.+]] = dash.num_items
//                The first item begins in front of the loop.
// CHECK-NEXT:    %[[Q0:.+]], %[[STEPS0:.+]] = dash.wait %[[Q:.+]][%[[C0]]]
// CHECK-NEXT:    %[[K0:.+]], %[[TILE0:.+]] = dash.wait %[[K:.+]][%[[C0]]]
// CHECK-NEXT:    %[[S0:.+]] = dash.matmul %[[Q0]], transpose %[[K0]]
// CHECK-NEXT:    %[[END:.+]]:4 = scf.for %[[I:.+]] = %[[C0]] to %[[N]] step %[[C1]] iter_args(%[[FIRST:.+]] = %[[C0]], %[[STEPS:.+]] = %[[STEPS0]], %[[TILE:.+]] = %[[TILE0]], %[[S:.+]] = %[[S0]])
//                  Its tile of Q stays in the slot, and is named again.
// CHECK-NEXT:      %[[HELD:.+]] = dash.held %[[Q]][%[[I]]]
// CHECK-NEXT:      %[[HIDDEN:.+]] = dash.hide %[[S]] band(%{{.+}}, %[[TILE]]) q_rows
// CHECK-NEXT:      dash.release %[[K]][%[[FIRST]]]
// CHECK:           dash.matmul %[[HELD]]
// CHECK:           dash.release %[[Q]][%[[I]]]
// CHECK-NEXT:      dash.take_tensor_core
// CHECK-NEXT:      dash.wait %[[V:.+]][%[[FIRST]]]
// CHECK-NEXT:      %[[O:.+]] = dash.matmul
// CHECK-NEXT:      dash.give_tensor_core
// CHECK-NEXT:      %[[NEXT:.+]] = arith.addi %[[FIRST]], %[[STEPS]]
// CHECK-NEXT:      %[[I1:.+]] = arith.addi %[[I]], %[[C1]]
// CHECK-NEXT:      %[[Q1:.+]], %[[STEPS1:.+]] = dash.wait %[[Q]][%[[I1]]]
// CHECK-NEXT:      %[[K1:.+]], %[[TILE1:.+]] = dash.wait %[[K]][%[[NEXT]]]
// CHECK-NEXT:      %[[S1:.+]] = dash.matmul %[[Q1]], transpose %[[K1]]
// CHECK-NEXT:      dash.release %[[V]][%[[FIRST]]]
// CHECK-NEXT:      dash.store %[[O]]
// CHECK-NEXT:      scf.yield %[[NEXT]], %[[STEPS1]], %[[TILE1]], %[[S1]]
//                The item behind the last gives its slots back.
// CHECK:         dash.release %[[Q]][%[[N]]]
// CHECK-NEXT:    dash.release %[[K]][%[[END]]#0]

// NOT:         scf.for
// NOT-NEXT:      dash.wait
func.func @compute(%o: memref<?x?x?x128xbf16>, %other: memref<?x?x?x64xbf16>) {
  dash.workers begins_ahead {
    %q_tiles = dash.channel "q" depth(2) : !Q
    %k_tiles = dash.channel "k" depth(2) : !K
    %v_tiles = dash.channel "v" depth(2) : !V
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%first = %c0) -> (index) {
        %q, %steps = dash.wait %q_tiles[%i] : !Q -> tensor<64x128xbf16>, index
        %k, %tile = dash.wait %k_tiles[%first] : !K -> tensor<128x128xbf16>, index
        %s = dash.matmul %q, transpose %k : (tensor<64x128xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
        %hidden = dash.hide %s band(%c0, %tile) q_rows : tensor<64x128xf32>
        dash.release %k_tiles[%first] : !K
        %p = dash.round %hidden : tensor<64x128xf32> to tensor<64x128xbf16>
        %again = dash.matmul %q, transpose %q : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x64xf32>
        dash.store %again, %other[%c0, %c0, %i] : tensor<64x64xf32> -> memref<?x?x?x64xbf16>
        dash.release %q_tiles[%i] : !Q
        dash.take_tensor_core
        %v = dash.wait %v_tiles[%first] : !V -> tensor<128x128xbf16>
        %sums = dash.matmul %p, %v : (tensor<64x128xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
        dash.give_tensor_core
        dash.release %v_tiles[%first] : !V
        dash.store %sums, %o[%c0, %c0, %i] : tensor<64x128xf32> -> memref<?x?x?x128xbf16>
        %next = arith.addi %first, %steps : index
        scf.yield %next : index
      }
    }
  }
  return
}
