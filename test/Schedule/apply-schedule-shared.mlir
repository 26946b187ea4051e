// Loops over the same tensors, with the same tiles and mask, share one order.
// RUN: dash-opt %s --dash-tile='q=64 kv=128 split=dv' --dash-apply-schedule='kind=symmetric-shift workers=3 sizes=q:512' --dash-verify-schedule | FileCheck %s
// RUN: dash-opt %s --dash-tile='q=64 kv=128 split=dv' -o %t
// RUN: dash-opt %t --dash-apply-schedule='function=attention_bwd kind=ascending workers=3 sizes=q:512' --dash-apply-schedule='function=attention_bwd#1 kind=descending workers=3 sizes=q:512' | FileCheck %s --check-prefix=TWO

// CHECK:     dash.schedule @attention_bwd_order
// CHECK-NOT: dash.schedule
// CHECK:     func.func @attention_bwd(
// CHECK:     dash.items order(@attention_bwd_order) over(
// CHECK:     dash.items order(@attention_bwd_order) over(
// CHECK:     dash.ordered_reduce

// Each run of the pass makes orders of its own.
// TWO: dash.schedule @attention_bwd_order kind("ascending")
// TWO: dash.schedule @attention_bwd_order_0 kind("descending")
!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
func.func @attention_bwd(%q: !T, %k: !T, %v: !T, %do: !T, %lse: !R, %delta: !R, %dq: !T, %dk: !T, %dv: !T, %scale: f32) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, delta = %delta : !T, !T, !T, !T, !R, !R) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<causal>) level(run) scale(%scale)
  return
}
