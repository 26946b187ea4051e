// Contributions that are kept apart wait for no turn: each goes to the place of its turn, and the last says how many there are.
// RUN: dash-opt %s --dash-lower-ordered-reduce | FileCheck %s --implicit-check-not=dash.acquire_turn --implicit-check-not=dash.release_turn

!DQ = !dash.channel<tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>>
!dq = tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>
!S = memref<?x?x?x128xf32>

// CHECK-LABEL: func @apart
func.func @apart(%sums: !S, %dk: !S, %n: index) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(2) : !DQ
    dash.role "reduce" reducer warps(2) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %seq, %kvh, %kv, %head0, %visit0, %visits, %rounds = dash.read_item[%c0]
      // CHECK:      scf.for %[[USE:.*]] =
      // CHECK-NEXT:   %[[HEAD:.*]], %[[Q:.*]], %[[TURN:.*]], %[[LAST:.*]] = dash.read_visit
      // CHECK-NEXT:   dash.wait %dq_tiles[%[[USE]]]
      // CHECK-NEXT:   %[[SLOT:.*]], %{{.*}} = dash.ring %dq_tiles[%[[USE]]]
      // CHECK-NEXT:   dash.bulk_store %dq_tiles[%[[SLOT]]] into %[[SUMS:.*]][%[[SEQ:.*]], %[[HEAD]], %[[Q]]] keep(%[[TURN]]) :
      // CHECK-NEXT:   nvvm.cp.async.bulk.commit.group
      // CHECK-NEXT:   dash.count_turns %[[SUMS]][%[[SEQ]], %[[HEAD]], %[[Q]]] turn(%[[TURN]]) last(%[[LAST]])
      // CHECK-NEXT:   nvvm.cp.async.bulk.wait_group 0 {read}
      // CHECK-NEXT:   dash.release %dq_tiles[%[[USE]]]
      // CHECK-NEXT: }
      scf.for %use = %c0 to %n step %c1 {
        %head, %q, %turn, %is_last = dash.read_visit %visit0[%use] heads(%head0, %c0)
        %t = dash.wait %dq_tiles[%use] : !DQ -> !dq
        dash.ordered_reduce %t into %sums[%seq, %head, %q] turn(%turn) last(%is_last) apart : !dq into !S
        dash.release %dq_tiles[%use] : !DQ
      }
      // The pieces of a tile lie one behind the other, each with its number of contributions.
      // CHECK:      %[[FIRST:.*]] = arith.muli %{{.*}}, %c2
      // CHECK:      %[[PIECE:.*]] = arith.addi %[[FIRST]], %c1
      // CHECK:      dash.bulk_store {{.*}} into %[[DK:.*]][%{{.*}}, %{{.*}}, %[[PIECE]]] keep(%[[PART:.*]]) :
      // CHECK:      dash.count_turns %[[DK]][%{{.*}}, %{{.*}}, %[[PIECE]]] turn(%[[PART]]) last(%{{.*}})
      // CHECK:      dash.release
      // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0{{$}}
      %part, %is_last = dash.read_part[%c0]
      %t = dash.wait %dq_tiles[%n] : !DQ -> !dq
      dash.ordered_reduce %t into %dk[%seq, %kvh, %kv] piece(1 of 2) turn(%part) last(%is_last) apart : !dq into !S
      dash.release %dq_tiles[%n] : !DQ
    }
  }
  return
}
