// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=symmetric-shift workers=132 sizes=q:4096,kv:4096,batch:1,heads:16,kv-heads:16' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=symmetric-shift workers=132 sizes=q:4096,kv:4096,batch:1,heads:16,kv-heads:16' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources | dash-opt --verify-roundtrip --dash-check-resources | FileCheck %s

// The whole stage, on the causal example: who does what, through what, and when.
// CHECK-LABEL: func.func @attention_bwd(
// CHECK-SAME:      %[[Q:[^:]+]]: {{[^%]+}}, %[[K:[^:]+]]: {{[^%]+}}, %[[V:[^:]+]]: {{[^%]+}}, %[[DO:[^:]+]]: {{[^%]+}}, %{{[^:]+}}: {{[^%]+}}, %[[LSE:[^:]+]]: {{[^%]+}}, %[[DQ:[^:]+]]: {{[^%]+}}, %[[DK:[^:]+]]: {{[^%]+}}, %[[DV:[^:]+]]: {{[^%]+}}, %[[SCALE:.+]]: f32) {
// CHECK:         %[[DELTA:.+]] = memref.alloc({{.+}}) : memref<?x?x?xf32>
// CHECK:         %[[SUM:.+]] = memref.alloc({{.+}}) : memref<?x?x?x128xf32>
// CHECK-NOT:     dash.items
// CHECK:         dash.workers registers(168) shared_bytes(231424) {
// CHECK-NEXT:      %k_tiles = dash.channel "k" depth(1) at([1024], [32768]) : <tensor<128x128xbf16>>
// CHECK-NEXT:      %v_tiles = dash.channel "v" depth(1) at([33792], [32768]) : <tensor<128x128xbf16>>
// CHECK-NEXT:      %q_tiles = dash.channel "q" depth(2) at([66560, 230400], [81920, 256]) : <tensor<64x128xbf16>, tensor<64xf32>>
// CHECK-NEXT:      %do_tiles = dash.channel "do" depth(2) at([82944, 230912], [81920, 256]) : <tensor<64x128xbf16>, tensor<64xf32>>
// CHECK-NEXT:      %ds_tiles = dash.channel "ds" depth(2) at([99328], [81920]) : <tensor<128x64xbf16>>
// CHECK-NEXT:      %dq_tiles = dash.channel "dq" depth(2) at([115712], [81920]) : <tensor<64x128xf32>>
// CHECK-NEXT:      dash.role "load-q" warps(1) registers(24) {
// CHECK-NEXT:        dash.items order(@attention_bwd_order)
// CHECK-NEXT:            (%[[SEQ:.+]], %{{.+}}, %{{.+}}, %{{.+}}) {
// CHECK-NEXT:          dash.walk (%[[HEAD:.+]], %[[QI:.+]], %{{.+}}) {
// CHECK-NEXT:            %[[QT:.+]] = dash.load %[[Q]][%[[SEQ]], %[[HEAD]], %[[QI]]] :
// CHECK-NEXT:            %[[L:.+]] = dash.load %[[LSE]][%[[SEQ]], %[[HEAD]], %[[QI]]] :
// CHECK-NEXT:            dash.put %[[QT]], %[[L]] into %q_tiles :
// CHECK-NEXT:            %[[DOT:.+]] = dash.load %[[DO]][%[[SEQ]], %[[HEAD]], %[[QI]]] :
// CHECK-NEXT:            %[[D:.+]] = dash.load %[[DELTA]][%[[SEQ]], %[[HEAD]], %[[QI]]] :
// CHECK-NEXT:            dash.put %[[DOT]], %[[D]] into %do_tiles :
// CHECK-NEXT:          }
// CHECK:           dash.role "reduce" warps(2) registers(24) {
// CHECK:               dash.walk (%[[HEAD:.+]], %[[QI:.+]], %[[TURN:.+]]) {
// CHECK-NEXT:            %[[C:.+]] = dash.get %dq_tiles :
// CHECK-NEXT:            dash.ordered_reduce %[[C]] into %[[SUM]][%{{.+}}, %[[HEAD]], %[[QI]]] turn(%[[TURN]]) :
// CHECK-NEXT:            dash.release %dq_tiles :
// CHECK-NEXT:          }
// CHECK:           dash.role "load-kv" warps(1) registers(24) {
// CHECK:               %[[KT:.+]] = dash.load %[[K]][
// CHECK-NEXT:          dash.put %[[KT]] into %k_tiles :
// CHECK-NEXT:          %[[VT:.+]] = dash.load %[[V]][
// CHECK-NEXT:          dash.put %[[VT]] into %v_tiles :
// CHECK-NEXT:        }
// CHECK:           dash.role "compute" warps(8) registers(240) {
// CHECK:               %[[KT:.+]] = dash.get %k_tiles :
// CHECK-NEXT:          %[[VT:.+]] = dash.get %v_tiles :
// CHECK-NEXT:          %[[R:.+]]:2 = dash.walk ({{.+}}) init(%[[DK0:.+]] = %{{.+}}, %[[DV0:.+]] = %{{.+}}) : {{.+}} {
// CHECK-NEXT:            %[[QT:.+]], %[[L:.+]] = dash.get %q_tiles {dash.order = 9 : i64, dash.stage = 0 : i64} :
// CHECK-NEXT:            %[[S:.+]] = dash.matmul %[[KT]], transpose %[[QT]] {dash.order = 10 : i64, dash.stage = 0 : i64} :
// CHECK-NEXT:            %[[DOT:.+]], %[[D:.+]] = dash.get %do_tiles {dash.order = 12 : i64, dash.stage = 0 : i64} :
// CHECK-NEXT:            %[[DP:.+]] = dash.matmul %[[VT]], transpose %[[DOT]] {dash.order = 13 : i64, dash.stage = 0 : i64} :
// CHECK-NEXT:            %[[P:.+]] = dash.probability %[[S]], %[[L]] at({{.+}}) scale(%[[SCALE]]) {dash.order = 16 : i64, dash.stage = 0 : i64} :
// CHECK-NEXT:            %[[PH:.+]] = dash.round %[[P]] {dash.order = 17 : i64, dash.stage = 0 : i64} :
// CHECK-NEXT:            %[[DS:.+]] = dash.score_gradient %[[P]], %[[DP]], %[[D]] {dash.order = 18 : i64, dash.stage = 0 : i64} :
// CHECK-NEXT:            dash.put %[[DS]] into %ds_tiles {dash.order = 19 : i64, dash.stage = 0 : i64} :
// CHECK-NEXT:            dash.take_tensor_core {dash.order = 0 : i64, dash.stage = 1 : i64}
// CHECK-NEXT:            %[[WHOLE:.+]] = dash.get %ds_tiles {dash.order = 1 : i64, dash.stage = 2 : i64} :
// CHECK-NEXT:            %[[C:.+]] = dash.matmul transpose %[[WHOLE]], %[[KT]] {dash.order = 2 : i64, dash.stage = 2 : i64} :
// CHECK-NEXT:            %[[DK1:.+]] = dash.matmul %[[DS]], %[[QT]] accumulate(%[[DK0]]) {dash.order = 3 : i64, dash.stage = 1 : i64} :
// CHECK-NEXT:            %[[DV1:.+]] = dash.matmul %[[PH]], %[[DOT]] accumulate(%[[DV0]]) {dash.order = 4 : i64, dash.stage = 1 : i64} :
// CHECK-NEXT:            dash.publish %ds_tiles {dash.order = 5 : i64, dash.stage = 1 : i64} :
// CHECK-NEXT:            dash.release %ds_tiles {dash.order = 6 : i64, dash.stage = 2 : i64} :
// CHECK-NEXT:            dash.put %[[C]] into %dq_tiles {dash.order = 7 : i64, dash.stage = 2 : i64} :
// CHECK-NEXT:            dash.release %q_tiles {dash.order = 8 : i64, dash.stage = 1 : i64} :
// CHECK-NEXT:            dash.release %do_tiles {dash.order = 11 : i64, dash.stage = 1 : i64} :
// CHECK-NEXT:            dash.give_tensor_core {dash.order = 14 : i64, dash.stage = 1 : i64}
// CHECK-NEXT:            dash.publish %dq_tiles {dash.order = 15 : i64, dash.stage = 2 : i64} :
// CHECK-NEXT:            dash.yield %[[DK1]], %[[DV1]] :
// CHECK-NEXT:          }
// CHECK-NEXT:          dash.release %k_tiles :
// CHECK-NEXT:          dash.store %[[R]]#1, %[[DV]][{{.+}}] {dash.staging = "v"} :
// CHECK-NEXT:          dash.store %[[R]]#0, %[[DK]][{{.+}}] scale(%[[SCALE]]) {dash.staging = "v"} :
// CHECK-NEXT:          dash.release %v_tiles :
// CHECK-NEXT:        }
// CHECK:         dash.convert %[[SUM]] to %[[DQ]]
