// RUN: dash-opt %s --dash-tile --dash-apply-schedule='sizes=q:100+200,kv:300+200 workers=2' --dash-verify-schedule --mlir-print-debuginfo | FileCheck %s

// What is not attention stays as it is; the names of orders do not clash; an order is next to its function.
// CHECK-DAG: #[[$FIRST:.+]] = loc("first":1:2)
// CHECK-DAG: #[[$SECOND:.+]] = loc("second":3:4)
// CHECK-LABEL: func.func @host(%arg0: i32 {{.*}}) -> i32
// CHECK-NEXT:    %[[SUM:.+]] = arith.addi %arg0, %arg0
// CHECK-NEXT:    return %[[SUM]]
func.func @host(%x: i32) -> i32 {
  %sum = arith.addi %x, %x : i32
  return %sum : i32
}

// CHECK:      func.func private @bwd_order()
func.func private @bwd_order()

!T = memref<1x2x?x64xbf16>
!R = memref<1x2x?xf32>
// CHECK:      dash.schedule @bwd_order_0 kind("ascending")
// CHECK:      dash.schedule @bwd_order_1 kind("ascending")
// CHECK-LABEL: func.func @bwd(
// CHECK:         scf.if
// CHECK:           dash.items order(@bwd_order_0)
// CHECK-NEXT:          level(run) sequences(<[100, 300], [200, 200]>)
// CHECK:             dash.walk
// CHECK:             } loc(#[[$FIRST]])
// CHECK:           } loc(#[[$FIRST]])
// CHECK:         } else {
// CHECK:           dash.items order(@bwd_order_1)
// CHECK-NEXT:          level(run) sequences(<[100, 300], [200, 200]>)
// CHECK:             } loc(#[[$SECOND]])
func.func @bwd(%c: i1, %q: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  scf.if %c {
    dash.attention_bwd ins(%q, %q, %q, %q, %lse, delta = %lse : !T, !T, !T, !T, !R, !R) outs(%dq, %dk, %dv : !T, !T, !T)
        mask(<full>) level(run) loc("first":1:2)
  } else {
    dash.attention_bwd ins(%q, %q, %q, %q, %lse, delta = %lse : !T, !T, !T, !T, !R, !R) outs(%dq, %dk, %dv : !T, !T, !T)
        mask(<causal>) level(run) loc("second":3:4)
  }
  return
}
