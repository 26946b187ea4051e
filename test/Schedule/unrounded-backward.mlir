// RUN: dash-opt %s --dash-tile | FileCheck %s

!T = memref<1x?x?x128xbf16>
!U = memref<1x?x?x128xf32>
!row = memref<1x?x?xf32>

// delta is the only reader of an output, whatever its elements are.
// CHECK: #o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = f32, columns = 128>
// CHECK-LABEL: func.func @backward(
// CHECK-SAME:      %[[U:[^:]+]]: memref<1x?x?x128xf32> {dash.tensor = #o}
// CHECK:         dash.delta ins(%[[U]], %{{.+}} : memref<1x?x?x128xf32>, memref<1x?x?x128xbf16>)
func.func @backward(%q: !T, %k: !T, %v: !T, %do: !T, %o: !U, %lse: !row, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !row, !U)
      outs(%dq, %dk, %dv : !T, !T, !T) mask(<causal>) level(run)
  return
}
