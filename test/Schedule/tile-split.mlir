// RUN: dash-opt %s --dash-tile='q=64 kv=128 split=dv' | FileCheck %s --check-prefix=OFDV
// RUN: dash-opt %s --dash-tile='q=64 kv=128 split=dq' | FileCheck %s --implicit-check-not=dash.convert --implicit-check-not=dash.reduce --implicit-check-not=linalg.fill

// dQ apart: items that own kv tiles have dK and dV, then items that own q tiles have dQ, which goes through their walks.
// CHECK-LABEL: func.func @attention_bwd(
// CHECK-SAME:      %[[Q:[^:]+]]: {{[^%]+}}, %[[K:[^:]+]]: {{[^%]+}}, %[[V:[^:]+]]: {{[^%]+}}, %[[DO:[^:]+]]: {{[^%]+}}, %[[LSE:[^:]+]]: {{[^%]+}}, %[[DELTA:[^:]+]]: {{[^%]+}}, %[[DQ:[^:]+]]: {{[^%]+}}, %[[DK:[^:]+]]: {{[^%]+}}, %[[DV:[^:]+]]: {{[^%]+}}, %[[SCALE:.+]]: f32
// CHECK:         dash.items unscheduled over(%[[Q]], %[[K]], %[[V]] :
// CHECK:           %{{.+}}:2 = dash.walk (
// CHECK-COUNT-4:     dash.matmul
// CHECK-NOT:         dash.matmul
// CHECK:             dash.yield
// CHECK:           dash.store %{{.+}}#0, %[[DK]]
// CHECK:           dash.store %{{.+}}#1, %[[DV]]
// CHECK:         %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x128xf32>
// CHECK-NEXT:    dash.items unscheduled own(q) walk(kv) over(%[[Q]], %[[K]], %[[V]] :
// CHECK-NEXT:        tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%[[SEQ:.+]], %[[HEAD:.+]], %[[QI:.+]]) {
// CHECK-NEXT:      %[[QT:.+]] = dash.load %[[Q]][%[[SEQ]], %[[HEAD]], %[[QI]]] : {{.+}} -> tensor<64x128xbf16>
// CHECK-NEXT:      %[[DOT:.+]] = dash.load %[[DO]][%[[SEQ]], %[[HEAD]], %[[QI]]] : {{.+}} -> tensor<64x128xbf16>
// CHECK-NEXT:      %[[L:.+]] = dash.load %[[LSE]][%[[SEQ]], %[[HEAD]], %[[QI]]] : {{.+}} -> tensor<64xf32>
// CHECK-NEXT:      %[[D:.+]] = dash.load %[[DELTA]][%[[SEQ]], %[[HEAD]], %[[QI]]] : {{.+}} -> tensor<64xf32>
// CHECK-NEXT:      %[[SUM:.+]] = dash.walk (%[[KV_HEAD:.+]], %[[KV:.+]]) init(%[[DQ0:.+]] = %[[ZERO]]) : tensor<64x128xf32> {
// CHECK-NEXT:        %[[KT:.+]] = dash.load %[[K]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] : {{.+}} -> tensor<128x128xbf16>
// CHECK-NEXT:        %[[VT:.+]] = dash.load %[[V]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]] : {{.+}} -> tensor<128x128xbf16>
// CHECK-NEXT:        %[[S:.+]] = dash.matmul %[[QT]], transpose %[[KT]] :
// CHECK-NEXT:        %[[P:.+]] = dash.probability %[[S]], %[[L]] at(%[[SEQ]], %[[KV]], %[[QI]]) scale(%[[SCALE]]) :
// CHECK-NEXT:        %[[DP:.+]] = dash.matmul %[[DOT]], transpose %[[VT]] :
// CHECK-NEXT:        %[[DS:.+]] = dash.score_gradient %[[P]], %[[DP]], %[[D]] q_rows :
// CHECK-NEXT:        %[[DQ1:.+]] = dash.matmul %[[DS]], %[[KT]] accumulate(%[[DQ0]]) :
// CHECK-NEXT:        dash.yield %[[DQ1]] : tensor<64x128xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      dash.store %[[SUM]], %[[DQ]][%[[SEQ]], %[[HEAD]], %[[QI]]] scale(%[[SCALE]]) :
// CHECK-NEXT:    }
// CHECK-NEXT:    return
// dV apart: items of both loops own kv tiles, and are over the same tensors. The first needs neither V nor delta.
// OFDV-LABEL: func.func @attention_bwd(
// OFDV-SAME:      %[[Q:[^:]+]]: {{[^%]+}}, %[[K:[^:]+]]: {{[^%]+}}, %[[V:[^:]+]]: {{[^%]+}}, %[[DO:[^:]+]]: {{[^%]+}}, %[[LSE:[^:]+]]: {{[^%]+}}, %[[DELTA:[^:]+]]: {{[^%]+}}, %[[DQ:[^:]+]]: {{[^%]+}}, %[[DK:[^:]+]]: {{[^%]+}}, %[[DV:[^:]+]]: {{[^%]+}}, %[[SCALE:.+]]: f32
// OFDV:         dash.items unscheduled over(%[[Q]], %[[K]], %[[V]] :
// OFDV-NOT:       dash.load %[[V]][
// OFDV-NOT:       dash.load %[[DELTA]][
// OFDV:           %[[S:.+]] = dash.matmul %{{.+}}, transpose
// OFDV-NEXT:      %[[P:.+]] = dash.probability %[[S]]
// OFDV-NEXT:      %[[ROUNDED:.+]] = dash.round %[[P]]
// OFDV-NEXT:      %[[DV1:.+]] = dash.matmul %[[ROUNDED]], %{{.+}} accumulate(
// OFDV-NEXT:      dash.yield %[[DV1]] : tensor<128x128xf32>
// OFDV:           dash.store %{{.+}}, %[[DV]][
// OFDV:         %[[SUM:.+]] = memref.alloc
// OFDV:         dash.items unscheduled over(%[[Q]], %[[K]], %[[V]] :
// OFDV-COUNT-4:   dash.matmul
// OFDV-NOT:       dash.matmul
// OFDV:           dash.reduce %{{.+}} into %[[SUM]][
// OFDV-NOT:       dash.store %{{.+}}, %[[DV]][
// OFDV:           dash.store %{{.+}}, %[[DK]][
// OFDV:         dash.convert %[[SUM]] to %[[DQ]]
!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
func.func @attention_bwd(%q: !T, %k: !T, %v: !T, %do: !T, %lse: !R, %delta: !R, %dq: !T, %dk: !T, %dv: !T, %scale: f32) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, delta = %delta : !T, !T, !T, !T, !R, !R) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<causal>) level(run) scale(%scale)
  return
}

// A softcap and a delta that is computed are those of both loops.
// CHECK-LABEL: func.func @capped(
// CHECK:         dash.delta ins(
// CHECK:         dash.items unscheduled over(
// CHECK:             dash.softcap
// CHECK:             dash.damp
// CHECK:         dash.items unscheduled own(q) walk(kv) over(
// CHECK:             dash.softcap
// CHECK:             dash.damp
// CHECK:         memref.dealloc
func.func @capped(%q: !T, %k: !T, %v: !T, %do: !T, %lse: !R, %o: !T, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run) softcap(50.0)
  return
}
