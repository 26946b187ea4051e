// RUN: dash-opt %s --dash-tile | FileCheck %s --implicit-check-not=dash.convert --implicit-check-not=dash.reduce
// RUN: dash-opt %s --dash-tile='q=64 kv=32 slack=2.5' | FileCheck %s --check-prefix=STATED
// RUN: dash-opt %s --dash-tile --dash-apply-schedule='kind=longest-first assume=true workers=132' --dash-verify-schedule | FileCheck %s --check-prefix=ORDER
// RUN: cat %dash_examples/bwd-causal.mlir %dash_examples/fwd-causal.mlir | dash-opt --dash-tile='split=dq slack=3' | FileCheck %s --check-prefix=BOTH

// A module may have both; each takes its own options.
// BOTH-LABEL: func.func @attention_bwd(
// BOTH-COUNT-2: dash.items
// BOTH-LABEL: func.func @attention_fwd(
// BOTH:         dash.running_max %{{.+}} slack(3.000000e+00)

!T = memref<1x?x?x128xbf16>
!row = memref<1x?x?xf32>

// An item owns a q tile. Its state goes through the walk: sums of the output, a reference and four sums of each row.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME:      %[[Q:[^:]+]]: {{[^%]+}}, %[[K:[^:]+]]: {{[^%]+}}, %[[V:[^:]+]]: {{[^%]+}}, %[[O:[^:]+]]: {{[^%]+}}, %[[LSE:[^:]+]]: {{[^%]+}}, %[[SCALE:[^:]+]]: f32
// CHECK-SAME:      dash.tensors = [#q, #k, #v, #o, #lse, #scale]
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
// CHECK-DAG:     %[[LOWEST:.+]] = arith.constant dense<0xFF800000> : tensor<128xf32>
// CHECK-DAG:     %[[NONE:.+]] = arith.constant dense<0.000000e+00> : tensor<128x4xf32>
// CHECK:         dash.items unscheduled own(q) walk(kv) over(%[[Q]], %[[K]], %[[V]] :
// CHECK-NEXT:        tiles(<q = 128, kv = 128>) mask(<causal>) level(row) (%[[SEQ:.+]], %[[HEAD:.+]], %[[QI:.+]]) {
// CHECK-NEXT:      %[[QT:.+]] = dash.load %[[Q]][%[[SEQ]], %[[HEAD]], %[[QI]]]
// CHECK-NEXT:      %[[END:.+]]:3 = dash.walk (%[[KV_HEAD:.+]], %[[KV:.+]]) init(%[[O0:.+]] = %[[ZERO]], %[[M0:.+]] = %[[LOWEST]], %[[L0:.+]] = %[[NONE]])
// CHECK-NEXT:        %[[KT:.+]] = dash.load %[[K]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]]
// CHECK-NEXT:        %[[VT:.+]] = dash.load %[[V]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]]
// CHECK-NEXT:        %[[S:.+]] = dash.matmul %[[QT]], transpose %[[KT]]
// CHECK-NEXT:        %[[Y:.+]] = dash.visible %[[S]] at(%[[SEQ]], %[[KV]], %[[QI]])
// CHECK-NEXT:        %[[M1:.+]], %[[FACTOR:.+]] = dash.running_max %[[Y]], %[[M0]] scale(%[[SCALE]]) slack(8.000000e+00)
// CHECK-NEXT:        %[[P:.+]] = dash.exponential %[[Y]], %[[M1]] scale(%[[SCALE]])
// CHECK-NEXT:        %[[L1:.+]] = dash.running_sum %[[P]], %[[L0]] times(%[[FACTOR]])
// CHECK-NEXT:        %[[ROUNDED:.+]] = dash.round %[[P]]
// CHECK-NEXT:        %[[SCALED:.+]] = dash.rescale %[[O0]], %[[FACTOR]]
// CHECK-NEXT:        %[[O1:.+]] = dash.matmul %[[ROUNDED]], %[[VT]] accumulate(%[[SCALED]])
// CHECK-NEXT:        dash.yield %[[O1]], %[[M1]], %[[L1]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[OUT:.+]], %[[LOG:.+]] = dash.finish %[[END]]#0, %[[END]]#1, %[[END]]#2
// CHECK-NEXT:      dash.store %[[OUT]], %[[O]][%[[SEQ]], %[[HEAD]], %[[QI]]] : tensor<128x128xf32>
// CHECK-NEXT:      dash.store_row %[[LOG]], %[[LSE]][%[[SEQ]], %[[HEAD]], %[[QI]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return

// STATED-LABEL: func.func @forward(
// STATED:         tiles(<q = 64, kv = 32>) mask(<causal>) level(row)
// STATED:         dash.running_max %{{.+}} slack(2.500000e+00) : tensor<64x32xf32>, tensor<64xf32>

// ORDER: dash.schedule @forward_order kind("longest-first") level(row) parts(1) workers(132) width(132) min_workers(1)
// ORDER: order(@forward_order) own(q) walk(kv)
func.func @forward(%q: !T, %k: !T, %v: !T, %o: !T, %lse: !row, %scale: f32) {
  dash.attention_fwd ins(%q, %k, %v : !T, !T, !T) outs(%o, %lse : !T, !row) mask(<causal>) level(row) scale(%scale)
  return
}

// A sink is what a row's state begins with; scores are capped before the mask, and in units of the cap behind it.
// CHECK-LABEL: func.func @with_sink(
// CHECK:         %[[CAP:.+]] = arith.constant 5.000000e+01 : f32
// CHECK:           dash.load
// CHECK-NEXT:      %[[MAX:.+]], %[[SUM:.+]] = dash.sink_state %{{.+}}[%{{.+}}] : memref<?xf32> -> tensor<128xf32>, tensor<128x4xf32>
// CHECK-NEXT:      dash.walk (%{{.+}}, %{{.+}}) init(%{{.+}} = %{{.+}}, %{{.+}} = %[[MAX]], %{{.+}} = %[[SUM]])
// CHECK:             %[[CAPPED:.+]] = dash.softcap %{{.+}} cap(5.000000e+01) scale(%{{.+}}) : tensor<128x128xf32>
// CHECK-NEXT:        %[[Y:.+]] = dash.visible %[[CAPPED]]
// CHECK-NEXT:        dash.running_max %[[Y]], %{{.+}} scale(%[[CAP]])
// CHECK-NEXT:        dash.exponential %[[Y]], %{{.+}} scale(%[[CAP]])
func.func @with_sink(%q: !T, %k: !T, %v: !T, %o: !T, %lse: !row, %sink: memref<?xf32>) {
  dash.attention_fwd ins(%q, %k, %v : !T, !T, !T) outs(%o, %lse : !T, !row) mask(<full>) level(run)
      sink(%sink : memref<?xf32>) softcap(50.0)
  return
}

// Rows of kv follow from the head dims.
// CHECK-LABEL: func.func @wide(
// CHECK:         tiles(<q = 128, kv = 112>)
!W = memref<1x?x?x192xbf16>
func.func @wide(%q: !W, %k: !W, %v: !T, %o: !T, %lse: !row) {
  dash.attention_fwd ins(%q, %k, %v : !W, !W, !T) outs(%o, %lse : !T, !row) mask(<causal>) level(row)
  return
}
// CHECK-LABEL: func.func @of_192(
// CHECK:         tiles(<q = 128, kv = 96>)
func.func @of_192(%q: !W, %k: !W, %v: !W, %o: !W, %lse: !row) {
  dash.attention_fwd ins(%q, %k, %v : !W, !W, !W) outs(%o, %lse : !W, !row) mask(<full>) level(row)
  return
}
// CHECK-LABEL: func.func @of_256(
// CHECK:         tiles(<q = 128, kv = 64>)
!X = memref<1x?x?x256xbf16>
func.func @of_256(%q: !X, %k: !X, %v: !X, %o: !X, %lse: !row) {
  dash.attention_fwd ins(%q, %k, %v : !X, !X, !X) outs(%o, %lse : !X, !row) mask(<full>) level(row)
  return
}
