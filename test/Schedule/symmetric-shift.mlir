// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=symmetric-shift workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// A worker has a kv tile and its mirror image: all finish in the same step. No q tile appears twice in one row.

// CHECK-LABEL: schedule symmetric-shift of @attention_bwd
// CHECK-NEXT:   problem      causal mask, q x kv rows 1024 x 1024, 1 head over 1 kv head, tiles 128 x 128
// CHECK-NEXT:   order        level run, made for 4 workers, 1 part, formulas
// CHECK-NEXT:   workers      4, at least 4 resident; items may not be handed out at run time
// CHECK-NEXT:   cost         compute 1.876, reduce 1.338, latency 0.337, boundary 5.793, 2 dQ buffers
// CHECK-NEXT:   makespan     29.8, lower bound 28.5: 1.047 of it
// CHECK-NEXT:   cells:       kv tile,q tile
// CHECK-EMPTY:
// CHECK-NEXT: step |  w0  w1  w2  w3
// CHECK-NEXT:    0 | 0,4 1,5 2,6 3,7
// CHECK-NEXT:    1 | 0,5 1,6 2,7 3,4
// CHECK-NEXT:    2 | 0,6 1,7 2,4 3,5
// CHECK-NEXT:    3 | 0,7 1,4 2,5 3,6
// CHECK-NEXT:    4 | 0,0 1,1 2,2 3,3
// CHECK-NEXT:    5 | 0,1 1,2 2,3 4,7
// CHECK-NEXT:    6 | 0,2 1,3 5,7 4,6
// CHECK-NEXT:    7 | 0,3 6,7 5,6 4,5
// CHECK-NEXT:    8 | 7,7 6,6 5,5 4,4
