// RUN: sed 's/<causal, union.*-1.>>/<union = #dash.union<columns = 256, window = [-1, 0]>>/' %dash_examples/bwd-union.mlir | dash-opt --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=4 sizes=q:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// The first two kv tiles are seen by all q tiles; the others from their diagonals on.

// CHECK-LABEL: schedule shift of @attention_bwd
// CHECK-NEXT:   problem      first 256 columns or causal mask, q x kv rows 1024 x 1024, 1 head over 1 kv head, tiles 128 x 128
// CHECK-NEXT:   order        level run, made for 4 workers, 1 part, a table
// CHECK-NEXT:   workers      4, at least 4 resident; items may not be handed out at run time
// CHECK-NEXT:   cost         compute 1.876, reduce 1.338, latency 0.337, boundary 5.793, 2 dQ buffers
// CHECK-NEXT:   makespan     35.4, lower bound 28.9: 1.225 of it
// CHECK-NEXT:   cells:       kv tile,q tile
// CHECK-EMPTY:
// CHECK-NEXT: step |  w0  w1  w2  w3
// CHECK-NEXT:    0 | 0,0 1,2 2,4 3,6
// CHECK-NEXT:    1 | 0,1 1,3 2,5 3,7
// CHECK-NEXT:    2 | 0,2 1,4 2,6 3,3
// CHECK-NEXT:    3 | 0,3 1,5 2,7 3,4
// CHECK-NEXT:    4 | 0,4 1,6 2,2 3,5
// CHECK-NEXT:    5 | 0,5 1,7 2,3 7,7
// CHECK-NEXT:    6 | 0,6 1,0 6,6   -
// CHECK-NEXT:    7 | 0,7 1,1 6,7   -
// CHECK-NEXT:    8 | 4,4 5,5   -   -
// CHECK-NEXT:    9 | 4,5 5,6   -   -
// CHECK-NEXT:   10 | 4,6 5,7   -   -
// CHECK-NEXT:   11 | 4,7   -   -   -
