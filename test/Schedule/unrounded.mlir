// RUN: dash-opt %s --dash-tile=slack=0 | FileCheck %s
// RUN: dash-opt %s --dash-tile --dash-apply-schedule='kind=longest-first assume=true workers=132' --dash-verify-schedule | FileCheck %s --check-prefix=ORDER

// A forward whose output is written twice. The f32 one is stored as rows are, from registers.

!T = memref<1x?x?x128xbf16>
!U = memref<1x?x?x128xf32>
!row = memref<1x?x?xf32>

// CHECK-LABEL: func.func @forward(
// CHECK-SAME:      %[[U:[^:]+]]: memref<1x?x?x128xf32> {dash.tensor = #unrounded})
// CHECK:         dash.items unscheduled own(q)
// CHECK-NEXT:        tiles(<q = 128, kv = 128>) mask(<causal>) level(row) (%[[SEQ:.+]], %[[HEAD:.+]], %[[QI:.+]]) {
// CHECK:             dash.running_max %{{.+}} slack(0.000000e+00)
// CHECK:           %[[OUT:.+]], %{{.+}} = dash.finish
// CHECK-NEXT:      dash.store_row %[[OUT]], %[[U]][%[[SEQ]], %[[HEAD]], %[[QI]]] : tensor<128x128xf32> -> memref<1x?x?x128xf32>
// CHECK-NEXT:      dash.store %[[OUT]], %{{.+}}[%[[SEQ]], %[[HEAD]], %[[QI]]] : tensor<128x128xf32> -> memref<1x?x?x128xbf16>
// ORDER: dash.schedule @forward_order kind("longest-first") level(row)
func.func @forward(%q: !T, %k: !T, %v: !T, %o: !T, %lse: !row, %unrounded: !U) {
  dash.attention_fwd ins(%q, %k, %v : !T, !T, !T) outs(%o, %lse : !T, !row) mask(<causal>) level(row)
      unrounded(%unrounded : !U)
  return
}
