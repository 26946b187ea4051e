// RUN: dash-opt %s --dash-apply-schedule='kind=auto workers=3 sizes=q:512,heads:2' --dash-verify-schedule | FileCheck %s --check-prefix=SEARCHED
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=auto workers=8 sizes=q:1024,heads:4' --dash-verify-schedule | FileCheck %s --check-prefix=FIXED
// RUN: dash-opt %s --dash-apply-schedule='kind=auto level=batch workers=4 sizes=q:1024' --dash-verify-schedule | FileCheck %s --check-prefix=APART
// RUN: dash-opt %s --dash-apply-schedule='kind=auto assume=true workers=32' --dash-verify-schedule | FileCheck %s --check-prefix=ASSUMED
// RUN: dash-opt %s --dash-apply-schedule='kind=auto level=machine assume=true workers=32 for-workers=16' --dash-verify-schedule | FileCheck %s --check-prefix=ASSUMED
// RUN: dash-opt %s --dash-apply-schedule='kind=auto workers=3 sizes=q:512,heads:2' --dash-explain -o /dev/null | FileCheck %s --check-prefix=WHY
// RUN: dash-opt %s --dash-apply-schedule='kind=auto level=batch workers=4 sizes=q:1024' --dash-explain -o /dev/null | FileCheck %s --check-prefix=WHYAPART
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=auto sizes=q:2048,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=PARTS
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=synthesized sizes=q:8192,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=FEWER
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=auto parts=2 sizes=q:2048,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=STATED
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=shift sizes=q:2048,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=ONE
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=auto sizes=q:8192,heads:64,kv-heads:8' --dash-verify-schedule | FileCheck %s --check-prefix=ENOUGH
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=auto convert=20000 sizes=q:2048,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=COSTLY
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto level=batch sizes=q:1024,batch:4,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=INBATCH
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto level=batch sizes=q:1024,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=INBATCH
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto level=machine sizes=q:1024,heads:16,kv-heads:2' --dash-verify-schedule | FileCheck %s --check-prefix=ONMACHINE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto level=machine workers=64 sizes=q:1024,batch:3,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=ONMACHINE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto sizes=q:8192,heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=RUNS
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=synthesized sizes=q:2048,heads:8,kv-heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=MORE
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile --dash-apply-schedule='kind=auto sizes=q:4096,kv:128,heads:8' --dash-verify-schedule | FileCheck %s --check-prefix=LONG
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto sizes=q:256,heads:2' --dash-verify-schedule | FileCheck %s --check-prefix=LITTLE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto level=batch sizes=q:8192,heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=ALONE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto level=machine sizes=q:8192,heads:1' --dash-verify-schedule | FileCheck %s --check-prefix=ALONE

// The kind of least predicted time, and by its name: a search beats the fixed kinds here.
// SEARCHED: dash.schedule @attention_bwd_order kind("synthesized") level(run)

// If two take equally long, the one with formulas: other sizes need no other order.
// FIXED: dash.schedule @attention_bwd_order kind("shift")
// FIXED: #dash.formulas

// From level batch on, the search that chooses for each sequence by itself.
// APART: dash.schedule @attention_bwd_order kind("synthesized") level(batch)

// An order that has to serve all sizes is formulas: the best of the fixed kinds at usual sizes.
// ASSUMED: dash.schedule @attention_bwd_order kind("symmetric-shift")
// ASSUMED: #dash.formulas

// Few heads leave workers idle, so they are cut into parts, as many as take least; a number that is stated holds, other kinds
// take one, and so do problems with enough items, or with expensive sums.
// PARTS: kind("shift") level(run) parts(8)
// FEWER: kind("synthesized") level(run) parts(4)
// STATED: kind("shift") level(run) parts(2)
// ONE: kind("shift") level(run) parts(1)
// ENOUGH: level(run) parts(1)
// COSTLY: level(run) parts(1)

// Where even all query heads are too few, parts are runs of q tiles, also of one kv tile; not where adding and rounding sums
// takes more than they save, nor from level batch on, where others may be beside a sequence.
// RUNS: kind("synthesized") level(run) parts(4)
// MORE: kind("synthesized") level(run) parts(16)
// LONG: kind("{{.*}}") level(run) parts(8)
// LITTLE: level(run) parts(1)
// ALONE: parts(1)

// From level batch on the number is that of a sequence alone, at level machine of one kv head on the stated workers.
// INBATCH: kind("synthesized") level(batch) parts(8)
// ONMACHINE: kind("synthesized") level(machine) parts(8)

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
