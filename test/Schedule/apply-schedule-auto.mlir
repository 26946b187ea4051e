// RUN: dash-opt %s --dash-apply-schedule='kind=auto workers=3 sizes=q:512,heads:2' --dash-verify-schedule | FileCheck %s --check-prefix=SEARCHED
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=auto workers=8 sizes=q:1024,heads:4' --dash-verify-schedule | FileCheck %s --check-prefix=FIXED
// RUN: dash-opt %s --dash-apply-schedule='kind=auto level=batch workers=4 sizes=q:1024' --dash-verify-schedule | FileCheck %s --check-prefix=APART
// RUN: dash-opt %s --dash-apply-schedule='kind=auto assume=true workers=32' --dash-verify-schedule | FileCheck %s --check-prefix=ASSUMED
// RUN: dash-opt %s --dash-apply-schedule='kind=auto level=machine assume=true workers=32 for-workers=16' --dash-verify-schedule | FileCheck %s --check-prefix=ASSUMED
// RUN: dash-opt %s --dash-apply-schedule='kind=auto workers=3 sizes=q:512,heads:2' --dash-explain -o /dev/null | FileCheck %s --check-prefix=WHY
// RUN: dash-opt %s --dash-apply-schedule='kind=auto level=batch workers=4 sizes=q:1024' --dash-explain -o /dev/null | FileCheck %s --check-prefix=WHYAPART

// The kind of least predicted time, and by its name: a search beats the fixed kinds here.
// SEARCHED: dash.schedule @attention_bwd_order kind("synthesized") level(run)

// Of two that take as long, the one that is formulas: other sizes need no other order.
// FIXED: dash.schedule @attention_bwd_order kind("shift")
// FIXED: #dash.formulas

// From level batch on, the search that chooses for each sequence by itself.
// APART: dash.schedule @attention_bwd_order kind("synthesized") level(batch)

// An order that has to serve all sizes is formulas: the best of the fixed kinds at usual sizes.
// ASSUMED: dash.schedule @attention_bwd_order kind("symmetric-shift")
// ASSUMED: #dash.formulas

// WHY: auto         kind=auto takes synthesized {{[0-9.]+}} ({{[0-9.]+}} % of the workers' time waiting, {{[0-9.]+}} % idle){{$}}
// WHY-NEXT:         the least predicted time of all kinds; the best other fixed kind is {{[a-z-]+}} {{[0-9.]+}} (
// WHY: faster       no other kind
// WHY: not faster   {{.*}}kind=symmetric-shift
// WHYAPART: auto         kind=auto takes 'synthesized', which chooses for each sequence by itself; tried here at level run, up to 262144 tasks
func.func @attention_bwd(%q: memref<?x?x?x128xbf16>) {
  dash.items unscheduled over(%q, %q, %q : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      tiles(<q = 128, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}
