// Adds in no order: none waits for another, and sums are complete when the role ends.
// RUN: dash-opt %s --dash-lower-ordered-reduce | FileCheck %s

!DQ = !dash.channel<tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>>
!dq = tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>
!S = memref<?x?x?x128xf32>

// In no order: no turn, no fence, and one wait for all sums at the end.
// CHECK-LABEL: func @unordered
func.func @unordered(%sums: !S, %n: index) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(2) : !DQ
    dash.role "reduce" reducer warps(2) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // CHECK:      scf.for %[[USE:.*]] =
      // CHECK-NEXT:   dash.wait %dq_tiles[%[[USE]]]
      // CHECK-NEXT:   %[[SLOT:.*]], %{{.*}} = dash.ring %dq_tiles[%[[USE]]]
      // CHECK-NEXT:   dash.bulk_add %dq_tiles[%[[SLOT]]] into
      // CHECK-NEXT:   nvvm.cp.async.bulk.commit.group
      // CHECK-NEXT:   nvvm.cp.async.bulk.wait_group 0 {read}
      // CHECK-NEXT:   dash.release %dq_tiles[%[[USE]]]
      // CHECK-NEXT: }
      // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0{{$}}
      scf.for %use = %c0 to %n step %c1 {
        %t = dash.wait %dq_tiles[%use] : !DQ -> !dq
        dash.reduce %t into %sums[%c0, %c0, %use] : !dq into !S
        dash.release %dq_tiles[%use] : !DQ
      }
    }
  }
  return
}
