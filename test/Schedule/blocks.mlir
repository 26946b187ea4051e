// RUN: dash-opt %dash_examples/bwd-blocks.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=4 sizes=q:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// Shift over the q tiles that see all of a wave, then up from the diagonal; what the bitmap hides is left out.

// CHECK-LABEL: schedule shift of @attention_bwd
// CHECK-NEXT:   problem      causal, blocks 256 x 256 mask, q x kv rows 1024 x 1024, 1 head over 1 kv head, tiles 128 x 128
// CHECK-NEXT:   order        level run, made for 4 workers, 1 part, a table
// CHECK-NEXT:   workers      4, at least 4 resident; items may not be handed out at run time
// CHECK-NEXT:   cost         compute 1.876, reduce 1.338, latency 0.337, boundary 5.793, 2 dQ buffers
// CHECK-NEXT:   makespan     31.7, lower bound 24.7: 1.282 of it
// CHECK-NEXT:   cells:       kv tile,q tile
// CHECK-EMPTY:
// CHECK-NEXT: step |  w0  w1  w2  w3
// CHECK-NEXT:    0 | 0,3 1,4 2,6 3,6
// CHECK-NEXT:    1 | 0,4 1,5 2,7 3,7
// CHECK-NEXT:    2 | 0,5 1,6 2,3 3,3
// CHECK-NEXT:    3 | 0,6 1,7 2,2 7,7
// CHECK-NEXT:    4 | 0,7 1,3 6,7   -
// CHECK-NEXT:    5 | 0,0 1,1 6,6   -
// CHECK-NEXT:    6 | 0,1 1,2   -   -
// CHECK-NEXT:    7 | 0,2 5,5   -   -
// CHECK-NEXT:    8 | 4,4   -   -   -
// CHECK-NEXT:    9 | 4,5   -   -   -
