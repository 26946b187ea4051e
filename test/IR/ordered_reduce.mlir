// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>
!S = memref<?x?x?x128xf32>

dash.schedule @order kind("ascending") level(run) parts(4) workers(8) width(8)
  problem(<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <4 x [3000, 3000]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

// A contribution to dQ at the walk's turn; one to dK, when there are several parts, at the item's.
// CHECK-LABEL: func.func @ordered_reduce
// CHECK:       dash.items order(@order) over
// CHECK-NEXT:      (%[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]], %[[PART_TURN:.+]]) {
// CHECK-NEXT:    dash.walk (%[[HEAD:.+]], %[[Q:.+]], %[[TURN:.+]]) {
// CHECK-NEXT:      dash.ordered_reduce %{{.+}} into %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]] turn(%[[TURN]]) : tensor<64x128xf32> into memref<?x?x?x128xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    dash.ordered_reduce %{{.+}} into %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]] turn(%[[PART_TURN]]) : tensor<128x128xf32> into memref<?x?x?x128xf32>
func.func @ordered_reduce(%q: !T, %k: !T, %v: !T, %a: tensor<64x128xf32>, %b: tensor<128x128xf32>, %dq: !S,
                          %dk: !S) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    dash.walk (%head, %qi, %turn) {
      dash.ordered_reduce %a into %dq[%seq, %head, %qi] turn(%turn) : tensor<64x128xf32> into !S
    }
    dash.ordered_reduce %b into %dk[%seq, %kv_head, %kv] turn(%part_turn)
      : tensor<128x128xf32> into !S
  }
  return
}

// In loops over the order buffer the chain's end is known where its turn is.
// CHECK-LABEL: func.func @last_turn
// CHECK:         dash.ordered_reduce %{{.+}} into %{{.+}}[%[[I:.+]], %[[I]], %[[I]]] turn(%[[I]]) last(%[[I]]) : tensor<64x128xf32> into memref<?x?x?x128xf32>
func.func @last_turn(%a: tensor<64x128xf32>, %dq: !S, %i: index) {
  dash.workers {
    dash.role "reduce" reducer warps(2) {
      dash.ordered_reduce %a into %dq[%i, %i, %i] turn(%i) last(%i) : tensor<64x128xf32> into !S
    }
  }
  return
}

// Kept apart, which the op that rounds the sum must know.
// CHECK-LABEL: func.func @apart
// CHECK:         dash.ordered_reduce %{{.+}} into %[[SUM:.+]][%[[I:.+]], %[[I]], %[[I]]] turn(%[[I]]) last(%[[I]]) apart : tensor<64x128xf32> into memref<?x?x?x128xf32>
// CHECK:         dash.convert %[[SUM]] to %{{.+}} apart : memref<?x?x?x128xf32> to memref<?x?x?x128xbf16>
func.func @apart(%a: tensor<64x128xf32>, %sum: !S, %dq: !T, %i: index) {
  dash.workers {
    dash.role "reduce" reducer warps(2) {
      dash.ordered_reduce %a into %sum[%i, %i, %i] turn(%i) last(%i) apart : tensor<64x128xf32> into !S
    }
  }
  dash.convert %sum to %dq apart : !S to !T
  return
}

// The last turn tells that a sum is complete, for which whoever rounds it waits.
// CHECK-LABEL: func.func @completion
// CHECK:         dash.ordered_reduce %{{.+}} into %[[SUM:.+]][%[[I:.+]], %[[I]], %[[I]]] turn(%[[I]]) last(%[[I]]) signals_completion : tensor<64x128xf32> into memref<?x?x?x128xf32>
// CHECK:         dash.release_turn %[[SUM]][%[[I]], %[[I]], %[[I]]] last(%[[I]]) signals_completion : memref<?x?x?x128xf32>
// CHECK:         dash.convert %[[SUM]] to %{{.+}} awaits_completion : memref<?x?x?x128xf32> to memref<?x?x?x128xbf16>
func.func @completion(%a: tensor<64x128xf32>, %sum: !S, %dq: !T, %i: index) {
  dash.workers {
    dash.role "reduce" reducer warps(2) {
      dash.ordered_reduce %a into %sum[%i, %i, %i] turn(%i) last(%i) signals_completion : tensor<64x128xf32> into !S
      dash.release_turn %sum[%i, %i, %i] last(%i) signals_completion : !S
    }
  }
  dash.convert %sum to %dq awaits_completion : !S to !T
  return
}
