// RUN: not dash-opt %s --dash-apply-schedule='kind=auto level=batch sizes=q:900000+800000,kv:900000+800000,heads:4' 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not dash-opt %s --dash-apply-schedule='kind=auto sizes=q:2147483647' 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not dash-opt %s --dash-apply-schedule='kind=auto level=batch sizes=q:16384,heads:16,batch:256' 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not dash-opt %s --dash-apply-schedule='kind=auto' 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not dash-opt %s --dash-apply-schedule='kind=auto level=batch sizes=q:1024+8192,kv:1024+8192,heads:8,kv-heads:1' 2>&1 | FileCheck %s --check-prefix=LENGTHS
// RUN: not dash-opt %s --dash-apply-schedule='kind=auto parts=-1 sizes=q:1024,heads:8,kv-heads:1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// LENGTHS: :{{[0-9]+}}:3: error: at level 'batch' each sequence chooses its parts by itself: 1024 x 1024 rows take 8, 8192 x 8192 rows 4; state parts, which all have
// NEGATIVE: :{{[0-9]+}}:3: error: parts must divide the 8 query heads of a kv head or be a multiple of them, got -1
// One kind for sequences of several lengths would look at their neighbours.
// SEVERAL: error: kind=auto cannot choose one kind for sequences of several lengths at level 'batch' without looking at their neighbours: name a kind
// A batch that is too large for a table does not turn its sequences to another kind than each would have alone.
// BATCH: error: schedule 'synthesized' writes out at most 67108864 tasks
// LARGE: error: problem is too large to be scheduled: expected at most 8388608 kv tiles, 16777216 q tiles and 17179869184 tasks over all heads and sequences
// OPEN: error: size 'q' is not in the types: state it, as in sizes=q:4096
func.func @attention_bwd(%q: memref<?x?x?x128xbf16>) {
  dash.items unscheduled over(%q, %q, %q : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}
