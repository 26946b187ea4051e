// RUN: dash-opt %s --dash-apply-schedule='kind=shift assume=true' --dash-verify-schedule --remarks-filter='dash-apply.*' 2>&1 | FileCheck %s
// RUN: dash-opt %s --dash-apply-schedule='kind=shift assume=true sizes=q:512,kv-heads:3' --dash-verify-schedule --remarks-filter='dash-apply.*' 2>&1 | FileCheck %s --check-prefix=SOME

// Formulas serve any sizes, and are proven for usual ones. What types or `sizes` state is not assumed.

// CHECK:       remark: [Analysis] assumed | Category:dash-apply-schedule | {{.*}}batch=1, heads=16, kv=4096, kv-heads=16, q=4096
// CHECK:       dash.schedule @open_order kind("shift")
// CHECK-NEXT:      heads = 16, kv_heads = 16, head_dim = 128, head_dim_v = 128, sequences = <[4096, 4096]>>)
// SOME:        remark: [Analysis] assumed | Category:dash-apply-schedule | {{.*}}batch=1, heads=18, kv=512
// SOME:        dash.schedule @open_order kind("shift")
// SOME-NEXT:       heads = 18, kv_heads = 3, head_dim = 128, head_dim_v = 128, sequences = <[512, 512]>>)
func.func @open(%q: memref<?x?x?x128xbf16>) {
  dash.items unscheduled over(%q, %q, %q : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}
