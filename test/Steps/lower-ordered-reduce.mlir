// What a reducer does in its turn: only then does it look at the slot, and the slot is free before the turn is over.
// RUN: dash-opt %s --dash-lower-ordered-reduce | FileCheck %s
// RUN: dash-opt %s --dash-lower-ordered-reduce=contributions | FileCheck %s --check-prefix=DEBUG

!DQ = !dash.channel<tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>>
!dq = tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>
!S = memref<?x?x?x128xf32>

// CHECK-LABEL: func @ordered
// DEBUG-LABEL: func @ordered
func.func @ordered(%sums: !S, %n: index) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(2) : !DQ
    // CHECK: dash.role "reduce"
    dash.role "reduce" reducer warps(2) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %seq, %kvh, %kv, %head0, %visit0, %visits, %rounds = dash.read_item[%c0]
      // CHECK:      scf.for %[[USE:.*]] =
      // CHECK-NEXT:   %[[HEAD:.*]], %[[Q:.*]], %[[TURN:.*]], %[[LAST:.*]] = dash.read_visit
      // CHECK-NEXT:   dash.acquire_turn %[[SUMS:.*]][%[[SEQ:.*]], %[[HEAD]], %[[Q]]] turn(%[[TURN]])
      // CHECK-NEXT:   dash.wait %dq_tiles[%[[USE]]]
      // CHECK-NEXT:   nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
      // CHECK-NEXT:   %[[SLOT:.*]], %{{.*}} = dash.ring %dq_tiles[%[[USE]]]
      // CHECK:        %[[FIRST:.*]] = arith.cmpi eq, %[[TURN]], %c0
      // CHECK-NEXT:   scf.if %[[FIRST]] {
      // CHECK-NEXT:     dash.bulk_store %dq_tiles[%[[SLOT]]] into %[[SUMS]][%[[SEQ]], %[[HEAD]], %[[Q]]] evict_last :
      // CHECK-NEXT:   } else {
      // CHECK-NEXT:     dash.bulk_add %dq_tiles[%[[SLOT]]] into %[[SUMS]][%[[SEQ]], %[[HEAD]], %[[Q]]] evict_last :
      // CHECK-NEXT:   }
      // CHECK-NEXT:   nvvm.cp.async.bulk.commit.group
      // CHECK-NEXT:   nvvm.cp.async.bulk.wait_group 0 {read}
      // CHECK-NEXT:   dash.release %dq_tiles[%[[USE]]]
      // CHECK-NEXT:   nvvm.cp.async.bulk.wait_group 0{{$}}
      // CHECK-NEXT:   dash.release_turn %[[SUMS]][%[[SEQ]], %[[HEAD]], %[[Q]]] last(%[[LAST]])

      // DEBUG:      dash.acquire_turn {{.*}} turn(%[[TURN:.*]]) :
      // DEBUG-NEXT: dash.wait
      // DEBUG-NEXT: nvvm.fence.proxy
      // DEBUG:      dash.bulk_store {{.*}} keep(%[[TURN]])
      // DEBUG:      scf.if
      // DEBUG:      nvvm.cp.async.bulk.wait_group 0{{$}}
      // DEBUG-NEXT: dash.release_turn
      scf.for %use = %c0 to %n step %c1 {
        %head, %q, %turn, %is_last = dash.read_visit %visit0[%use] heads(%head0, %c0)
        %t = dash.wait %dq_tiles[%use] : !DQ -> !dq
        dash.ordered_reduce %t into %sums[%seq, %head, %q] turn(%turn) last(%is_last) : !dq into !S
        dash.release %dq_tiles[%use] : !DQ
      }
    }
  }
  return
}
