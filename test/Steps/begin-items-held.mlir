// Registers hold the left factor of an item's first product. Its slot is free once it is loaded, so the next item begins behind the last product,
// though there is one slot. The loop carries what is loaded, and the slot is released with the load.
// RUN: dash-opt %s --dash-hoist-releases --dash-begin-items --canonicalize | FileCheck %s
// RUN: sed 's/%q_rows = .*//; s/matmul %q_rows/matmul %q/' %s | dash-opt --dash-hoist-releases --dash-begin-items --canonicalize | FileCheck %s --check-prefix=SLOT

!Q = !dash.channel<tensor<64x128xbf16>, index>
!K = !dash.channel<tensor<128x128xbf16>>
!V = !dash.channel<tensor<128x128xbf16>>

// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK:         %[[N:.+]] = dash.num_items
// CHECK-NEXT:    %[[Q0:.+]], %[[STEPS0:.+]] = dash.wait %[[Q:.+]][%[[C0]]]
// CHECK-NEXT:    %[[ROWS0:.+]] = dash.load_factor %[[Q0]]
// CHECK-NEXT:    %[[K0:.+]] = dash.wait %[[K:.+]][%[[C0]]]
// CHECK-NEXT:    %[[S0:.+]] = dash.matmul %[[ROWS0]], transpose %[[K0]]
// CHECK-NEXT:    dash.release %[[Q]][%[[C0]]]
// CHECK-NEXT:    %[[END:.+]]:4 = scf.for %[[I:.+]] = %[[C0]] to %[[N]] step %[[C1]] iter_args(%[[FIRST:.+]] = %[[C0]], %[[STEPS:.+]] = %[[STEPS0]], %[[ROWS:.+]] = %[[ROWS0]], %[[S:.+]] = %[[S0]])
// CHECK-NEXT:      dash.release %[[K]][%[[FIRST]]]
// CHECK:           dash.matmul %[[ROWS]]
// CHECK-NOT:       dash.release %[[Q]]
// CHECK:           dash.wait %[[V:.+]][%[[FIRST]]]
// CHECK-NEXT:      %[[O:.+]] = dash.matmul
// CHECK-NEXT:      %[[NEXT:.+]] = arith.addi %[[FIRST]], %[[STEPS]]
// CHECK-NEXT:      %[[I1:.+]] = arith.addi %[[I]], %[[C1]]
// CHECK-NEXT:      %[[Q1:.+]], %[[STEPS1:.+]] = dash.wait %[[Q]][%[[I1]]]
// CHECK-NEXT:      %[[ROWS1:.+]] = dash.load_factor %[[Q1]]
// CHECK-NEXT:      %[[K1:.+]] = dash.wait %[[K]][%[[NEXT]]]
// CHECK-NEXT:      %[[S1:.+]] = dash.matmul %[[ROWS1]], transpose %[[K1]]
// CHECK-NEXT:      dash.release %[[Q]][%[[I1]]]
// CHECK-NEXT:      dash.release %[[V]][%[[FIRST]]]
// CHECK-NEXT:      dash.store %[[O]]
// CHECK-NEXT:      scf.yield %[[NEXT]], %[[STEPS1]], %[[ROWS1]], %[[S1]]
//                Of the item behind the last, only K is left to be released.
// CHECK:         }
// CHECK-NEXT:    dash.release %[[K]][%[[END]]#0]
// CHECK-NEXT:  }

// With Q in its slot, the next item begins behind the whole item.
// SLOT:          scf.for
// SLOT:            dash.store
// SLOT:            dash.wait %q_tiles
// SLOT:            scf.yield
func.func @compute(%o: memref<?x?x?x128xbf16>, %other: memref<?x?x?x64xbf16>) {
  dash.workers begins_ahead {
    %q_tiles = dash.channel "q" depth(1) held : !Q
    %k_tiles = dash.channel "k" depth(2) : !K
    %v_tiles = dash.channel "v" depth(2) : !V
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%first = %c0) -> (index) {
        %q, %steps = dash.wait %q_tiles[%i] : !Q -> tensor<64x128xbf16>, index
        %q_rows = dash.load_factor %q : tensor<64x128xbf16> -> tensor<64x128xbf16>
        %k = dash.wait %k_tiles[%first] : !K -> tensor<128x128xbf16>
        %s = dash.matmul %q_rows, transpose %k : (tensor<64x128xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
        dash.release %k_tiles[%first] : !K
        %p = dash.round %s : tensor<64x128xf32> to tensor<64x128xbf16>
        %again = dash.matmul %q_rows, transpose %p : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x64xf32>
        dash.store %again, %other[%c0, %c0, %i] : tensor<64x64xf32> -> memref<?x?x?x64xbf16>
        %v = dash.wait %v_tiles[%first] : !V -> tensor<128x128xbf16>
        %sums = dash.matmul %p, %v : (tensor<64x128xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
        dash.release %v_tiles[%first] : !V
        dash.release %q_tiles[%i] : !Q
        dash.store %sums, %o[%c0, %c0, %i] : tensor<64x128xf32> -> memref<?x?x?x128xbf16>
        %next = arith.addi %first, %steps : index
        scf.yield %next : index
      }
    }
  }
  return
}
