// RUN: dash-opt %s --dash-tile --dash-apply-schedule='function=bwd#1 kind=shift workers=2' --dash-apply-schedule='kind=descending workers=2' --dash-verify-schedule --dash-report-schedule='format=json output=%t.json' | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json

// Problems of one module get orders of their own; the second of a function is called by its place.
// CHECK: dash.schedule @bwd_order kind("shift")
// CHECK: dash.schedule @bwd_order_0 kind("descending")
// CHECK: dash.items order(@bwd_order_0)
// CHECK: dash.items order(@bwd_order)

// JSON:      "op": "bwd",
// JSON-NEXT: "kind": "descending",
// JSON:      "op": "bwd#1",
// JSON-NEXT: "kind": "shift",

!T = memref<1x2x256x64xbf16>
!R = memref<1x2x256xf32>
func.func @bwd(%q: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %q, %q, %q, %lse, delta = %lse : !T, !T, !T, !T, !R, !R) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<causal>) level(run)
  dash.attention_bwd ins(%q, %q, %q, %q, %lse, delta = %lse : !T, !T, !T, !T, !R, !R) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return
}
