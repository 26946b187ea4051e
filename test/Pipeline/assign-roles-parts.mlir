// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift workers=4 parts=2 sizes=q:512,batch:1,heads:4,kv-heads:1' --dash-verify-schedule --dash-check-kernels --dash-assign-roles | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift workers=4 parts=2 sizes=q:512,batch:1,heads:4,kv-heads:1' --dash-verify-schedule --dash-check-kernels --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources | FileCheck %s --check-prefix=PLAN

// With parts an item's sums leave behind its walk through the slots of dQ, in pieces as large as those: the consumer puts what the role
// that adds waits for, in one order.
// CHECK-LABEL: func.func @attention_bwd
// CHECK:           dash.role "reduce" reducer warps(1) {
// CHECK:             dash.items {{.+}}
// CHECK-NEXT:            {{.+}} (%[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]], %[[TURN:.+]]) {
// CHECK-NEXT:          dash.walk
// CHECK:               }
// CHECK-NEXT:          %[[K0:.+]] = dash.wait %dq_tiles
// CHECK-NEXT:          dash.ordered_reduce %[[K0]] into %[[DK:.+]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] piece(0 of 2) turn(%[[TURN]]) : tensor<64x128xf32>
// CHECK-NEXT:          %[[K1:.+]] = dash.wait %dq_tiles
// CHECK-NEXT:          dash.ordered_reduce %[[K1]] into %[[DK]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] piece(1 of 2) turn(%[[TURN]]) :
// CHECK-NEXT:          %[[V0:.+]] = dash.wait %dq_tiles
// CHECK-NEXT:          dash.ordered_reduce %[[V0]] into %[[DV:.+]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] piece(0 of 2) turn(%[[TURN]]) :
// CHECK-NEXT:          %[[V1:.+]] = dash.wait %dq_tiles
// CHECK-NEXT:          dash.ordered_reduce %[[V1]] into %[[DV]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] piece(1 of 2) turn(%[[TURN]]) :
// CHECK-NEXT:        }
// CHECK:           dash.role "compute" consumer warps(8) {
// CHECK:               %[[SUMS:.+]]:2 = dash.walk
// CHECK:               %[[P0:.+]] = dash.piece %[[SUMS]]#0[0] : tensor<128x128xf32> to tensor<64x128xf32>
// CHECK-NEXT:          dash.put %[[P0]] into %dq_tiles
// CHECK-NEXT:          %[[P1:.+]] = dash.piece %[[SUMS]]#0[1] :
// CHECK-NEXT:          dash.put %[[P1]] into %dq_tiles
// CHECK-NEXT:          %[[P2:.+]] = dash.piece %[[SUMS]]#1[0] :
// CHECK-NEXT:          dash.put %[[P2]] into %dq_tiles
// CHECK-NEXT:          %[[P3:.+]] = dash.piece %[[SUMS]]#1[1] :
// CHECK-NEXT:          dash.put %[[P3]] into %dq_tiles
// CHECK-NEXT:        }
// CHECK:         dash.convert %{{.+}} to %{{.+}} pieces(2) :
// CHECK:         dash.convert %{{.+}} to %{{.+}} pieces(2) :

// A piece is committed where it is put, and K and V are given back in front of all of them: the next item's come while sums leave.
// PLAN:            %[[SUMS:.+]]:2 = dash.walk
// PLAN:            dash.release %v_tiles
// PLAN-NEXT:       dash.release %k_tiles
// PLAN-NEXT:       %[[P0:.+]] = dash.piece %[[SUMS]]#0[0]
// PLAN-NEXT:       dash.put %[[P0]] into %dq_tiles
// PLAN-NEXT:       dash.commit %dq_tiles
