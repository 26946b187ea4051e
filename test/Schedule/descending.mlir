// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=descending workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// Each kv tile ends on its diagonal; items are dealt back and forth, so worker 0 has the longest and the shortest.

// CHECK-LABEL: schedule descending of @attention_bwd
// CHECK-NEXT:   problem      causal mask, q x kv rows 1024 x 1024, 1 head over 1 kv head, tiles 128 x 128
// CHECK-NEXT:   order        level run, made for 4 workers, 1 part, formulas
// CHECK-NEXT:   workers      4, at least 4 resident; items may be handed out at run time
// CHECK-NEXT:   cost         compute 1.876, reduce 1.338, latency 0.337, boundary 5.793, 2 dQ buffers
// CHECK-NEXT:   makespan     34.3, lower bound 28.5: 1.205 of it
// CHECK-NEXT:   cells:       kv tile,q tile
// CHECK-EMPTY:
// CHECK-NEXT: step |  w0  w1  w2  w3
// CHECK-NEXT:    0 | 0,7 1,7 2,7 3,7
// CHECK-NEXT:    1 | 0,6 1,6 2,6 3,6
// CHECK-NEXT:    2 | 0,5 1,5 2,5 3,5
// CHECK-NEXT:    3 | 0,4 1,4 2,4 3,4
// CHECK-NEXT:    4 | 0,3 1,3 2,3 3,3
// CHECK-NEXT:    5 | 0,2 1,2 2,2 4,7
// CHECK-NEXT:    6 | 0,1 1,1 5,7 4,6
// CHECK-NEXT:    7 | 0,0 6,7 5,6 4,5
// CHECK-NEXT:    8 | 7,7 6,6 5,5 4,4
