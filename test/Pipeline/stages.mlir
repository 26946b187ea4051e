// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling='q-tile=64 kv-tile=128' --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=132 sizes=q:4096,kv:4096,batch:1,heads:16,kv-heads:16' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling='q-tile=64 kv-tile=128' --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=132 sizes=q:4096,kv:4096,batch:1,heads:16,kv-heads:16' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources | dash-opt --verify-roundtrip --dash-check-resources | FileCheck %s

// The whole stage, on the causal example: roles, channels and times.
// CHECK-LABEL: func.func @attention_bwd(
// CHECK-SAME:      %[[Q:[^:]+]]: {{[^%]+}}, %[[K:[^:]+]]: {{[^%]+}}, %[[V:[^:]+]]: {{[^%]+}}, %[[DO:[^:]+]]: {{[^%]+}}, %{{[^:]+}}: {{[^%]+}}, %[[LSE:[^:]+]]: {{[^%]+}}, %[[DQ:[^:]+]]: {{[^%]+}}, %[[DK:[^:]+]]: {{[^%]+}}, %[[DV:[^:]+]]: {{[^%]+}}, %[[SCALE:.+]]: f32 {dash.tensor = #scale}) attributes {dash.tensors = [#q, #k, #v, #do, #o, #lse, #dq, #dk, #dv, #scale]} {
// CHECK:         %[[DELTA:.+]] = memref.alloc({{.+}}) : memref<?x?x?xf32>
// CHECK:         %[[SUM:.+]] = memref.alloc({{.+}}) : memref<?x?x?x128xf32>
// CHECK-NOT:     dash.items
// CHECK:         dash.workers registers(168) shared_bytes(231424) {
// CHECK-NEXT:      %k_tiles = dash.channel "k" depth(1) at([1024, 160, 164, 168, 172], [32768, 16, 16, 16, 16]) barriers([0, 8]) : !channel_128x128xbf16_index_index_index_index
// CHECK-NEXT:      %v_tiles = dash.channel "v" depth(1) at([33792], [32768]) barriers([16, 24]) : !channel_128x128xbf16
// CHECK-NEXT:      %q_tiles = dash.channel "q" depth(2) at([66560, 230400, 176], [81920, 256, 16]) barriers([32, 48]) : !channel_64x128xbf16_64xf32_index
// CHECK-NEXT:      %do_tiles = dash.channel "do" depth(2) at([82944, 230912], [81920, 256]) barriers([64, 80]) : !channel_64x128xbf16_64xf32
// CHECK-NEXT:      %ds_tiles = dash.channel "ds" depth(2) at([99328], [81920]) barriers([96, 112]) : !channel_128x64xbf16
// CHECK-NEXT:      %dq_tiles = dash.channel "dq" depth(2) at([115712], [81920]) barriers([128, 144]) : !channel_64x128xf32
// CHECK-NEXT:      dash.role "load-q" producer warps(1) registers(24) {
// CHECK-NEXT:        dash.items order(@attention_bwd_order)
// CHECK-NEXT:            (%[[SEQ:.+]], %{{.+}}, %[[KV:.+]], %{{.+}}) {
// CHECK-NEXT:          dash.walk (%[[HEAD:.+]], %[[QI:.+]], %{{.+}}) {
// CHECK-NEXT:            %[[QT:.+]] = dash.load %[[Q]][%[[SEQ]], %[[HEAD]], %[[QI]]] :
// CHECK-NEXT:            %[[L:.+]] = dash.load %[[LSE]][%[[SEQ]], %[[HEAD]], %[[QI]]] :
// CHECK-NEXT:            %[[LEAD:.+]] = dash.band_lead at(%[[SEQ]], %[[KV]], %[[QI]]) mask(<causal>) tiles(<q = 64, kv = 128>)
// CHECK-NEXT:            dash.put %[[QT]], %[[L]], %[[LEAD]] into %q_tiles :
// CHECK-NEXT:            %[[DOT:.+]] = dash.load %[[DO]][%[[SEQ]], %[[HEAD]], %[[QI]]] :
// CHECK-NEXT:            %[[D:.+]] = dash.load %[[DELTA]][%[[SEQ]], %[[HEAD]], %[[QI]]] :
// CHECK-NEXT:            dash.put %[[DOT]], %[[D]] into %do_tiles :
// CHECK-NEXT:          }
// CHECK:           dash.role "reduce" reducer warps(2) registers(24) {
// CHECK:               dash.walk (%[[HEAD:.+]], %[[QI:.+]], %[[TURN:.+]]) {
// CHECK-NEXT:            %[[C:.+]] = dash.wait %dq_tiles :
// CHECK-NEXT:            dash.ordered_reduce %[[C]] into %[[SUM]][%{{.+}}, %[[HEAD]], %[[QI]]] turn(%[[TURN]]) :
// CHECK-NEXT:            dash.release %dq_tiles :
// CHECK-NEXT:          }
// CHECK:           dash.role "load-kv" producer warps(1) registers(24) {
// CHECK:               %[[KT:.+]] = dash.load %[[K]][
// CHECK-NEXT:          %[[STEPS:.+]] = dash.num_steps
// CHECK-NEXT:          dash.put %[[KT]], %[[STEPS]], %{{.+}}, %{{.+}}, %{{.+}} into %k_tiles :
// CHECK-NEXT:          %[[VT:.+]] = dash.load %[[V]][
// CHECK-NEXT:          dash.put %[[VT]] into %v_tiles :
// CHECK-NEXT:        }
// CHECK:           dash.role "compute" consumer warps(8) registers(240) {
// CHECK:               %[[KT:.+]], %[[STEPS:.+]], %[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]] = dash.wait %k_tiles :
// CHECK-NEXT:          %[[VT:.+]] = dash.wait %v_tiles :
// CHECK-NEXT:          %[[R:.+]]:2 = dash.walk ({{.+}}) init(%[[DK0:.+]] = %{{.+}}, %[[DV0:.+]] = %{{.+}}) : {{.+}} steps(%[[STEPS]]) stages(3) {
// CHECK-NEXT:            dash.take_tensor_core stage(1)
// CHECK-NEXT:            %[[WHOLE:.+]] = dash.wait %ds_tiles stage(2) :
// CHECK-NEXT:            %[[C:.+]] = dash.matmul transpose %[[WHOLE]], %[[KT]] stage(2) split({{.+}}) :
// CHECK-NEXT:            %[[DK1:.+]] = dash.matmul %[[DS:[^ ,]+]], %[[QT:[^ ,]+]] accumulate(%[[DK0]]) stage(1) split({{.+}}) :
// CHECK-NEXT:            %[[DV1:.+]] = dash.matmul %[[PH:[^ ,]+]], %[[DOT:[^ ,]+]] accumulate(%[[DV0]]) stage(1) split({{.+}}) :
// CHECK-NEXT:            dash.commit %ds_tiles stage(1) :
// CHECK-NEXT:            dash.release %ds_tiles stage(2) :
// CHECK-NEXT:            dash.put %[[C]] into %dq_tiles stage(2) :
// CHECK-NEXT:            dash.release %q_tiles stage(1) :
// CHECK-NEXT:            %[[QT]], %[[L:.+]], %[[LEAD:.+]] = dash.wait %q_tiles stage(0) :
// CHECK-NEXT:            %[[S:.+]] = dash.matmul %[[KT]], transpose %[[QT]] stage(0) split({{.+}}) :
// CHECK-NEXT:            dash.release %do_tiles stage(1) :
// CHECK-NEXT:            %[[DOT]], %[[D:.+]] = dash.wait %do_tiles stage(0) :
// CHECK-NEXT:            %[[DP:.+]] = dash.matmul %[[VT]], transpose %[[DOT]] stage(0) split({{.+}}) :
// CHECK-NEXT:            dash.give_tensor_core stage(1)
// CHECK-NEXT:            dash.commit %dq_tiles stage(2) :
// CHECK-NEXT:            %[[LOG:.+]] = dash.log_probability %[[S]], %[[L]] scale(%[[SCALE]]) stage(0) :
// CHECK-NEXT:            %[[SHOWN:.+]] = dash.hide %[[LOG]] band(%[[LEAD]], %[[KV]]) stage(0) :
// CHECK-NEXT:            %[[P:.+]] = dash.exp2 %[[SHOWN]] stage(0) :
// CHECK-NEXT:            %[[PH]] = dash.round %[[P]] stage(0) :
// CHECK-NEXT:            %[[DS]] = dash.score_gradient %[[P]], %[[DP]], %[[D]] stage(0) :
// CHECK-NEXT:            dash.put %[[DS]] into %ds_tiles stage(0) :
// CHECK-NEXT:            dash.yield %[[DK1]], %[[DV1]] :
// CHECK-NEXT:          }
// CHECK-NEXT:          dash.release %v_tiles :
// CHECK-NEXT:          dash.release %k_tiles :
// CHECK-NEXT:          dash.store %[[R]]#1, %[[DV]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] through %ds_tiles : {{.+}} ahead(0) :
// CHECK-NEXT:          dash.store %[[R]]#0, %[[DK]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] scale(%[[SCALE]]) through %ds_tiles : {{.+}} ahead(2) :
// CHECK-NEXT:        }
// CHECK:         dash.convert %[[SUM]] to %[[DQ]]
