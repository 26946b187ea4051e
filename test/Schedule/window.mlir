// RUN: dash-opt %dash_examples/bwd-window.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=4 sizes=q:1280' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// Each kv tile walks up from its own diagonal, and the chain of a q tile begins with the nearest.

// CHECK-LABEL: schedule shift of @attention_bwd
// CHECK-NEXT:   problem      window [512, 0] mask, q x kv rows 1280 x 1280, 1 head over 1 kv head, tiles 128 x 128
// CHECK-NEXT:   order        level run, made for 4 workers, 1 part, formulas
// CHECK-NEXT:   workers      4, at least 3 resident; items may not be handed out at run time
// CHECK-NEXT:   cost         compute 1.876, reduce 1.338, latency 0.337, boundary 5.793, 2 dQ buffers
// CHECK-NEXT:   makespan     44.6, lower bound 34.3: 1.301 of it
// CHECK-NEXT:   cells:       kv tile,q tile
// CHECK-EMPTY:
// CHECK-NEXT: step |  w0  w1  w2  w3
// CHECK-NEXT:    0 | 0,0 1,1 2,2 3,3
// CHECK-NEXT:    1 | 0,1 1,2 2,3 3,4
// CHECK-NEXT:    2 | 0,2 1,3 2,4 3,5
// CHECK-NEXT:    3 | 0,3 1,4 2,5 3,6
// CHECK-NEXT:    4 | 0,4 1,5 2,6 3,7
// CHECK-NEXT:    5 | 4,4 5,5 6,6 7,7
// CHECK-NEXT:    6 | 4,5 5,6 6,7 7,8
// CHECK-NEXT:    7 | 4,6 5,7 6,8 7,9
// CHECK-NEXT:    8 | 4,7 5,8 6,9   -
// CHECK-NEXT:    9 | 4,8 5,9   -   -
// CHECK-NEXT:   10 | 8,8 9,9   -   -
// CHECK-NEXT:   11 | 8,9   -   -   -
