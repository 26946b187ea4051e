// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=4 sizes=q:512,kv:512,heads:2' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// Columns are workers, rows are steps. No q tile of a head appears twice in one row.

// CHECK-LABEL: schedule shift of @attention_bwd
// CHECK-NEXT:   problem      full mask, q x kv rows 512 x 512, 2 heads over 2 kv heads, tiles 128 x 128
// CHECK-NEXT:   order        level run, made for 4 workers, 1 part, formulas
// CHECK-NEXT:   workers      4, at least 4 resident; items may not be handed out at run time
// CHECK-NEXT:   cost         compute 1.945, reduce 1.459, latency 0.379, boundary 5.77, 2 dQ buffers
// CHECK-NEXT:   makespan     28.6, lower bound 27.1: 1.054 of it
// CHECK-NEXT:   cells:       h head, kv tile,q tile
// CHECK-EMPTY:
// CHECK-NEXT: step |     w0     w1     w2     w3
// CHECK-NEXT:    0 | h0 0,0 h0 1,1 h0 2,2 h0 3,3
// CHECK-NEXT:    1 | h0 0,1 h0 1,2 h0 2,3 h0 3,0
// CHECK-NEXT:    2 | h0 0,2 h0 1,3 h0 2,0 h0 3,1
// CHECK-NEXT:    3 | h0 0,3 h0 1,0 h0 2,1 h0 3,2
// CHECK-NEXT:    4 | h1 0,0 h1 1,1 h1 2,2 h1 3,3
// CHECK-NEXT:    5 | h1 0,1 h1 1,2 h1 2,3 h1 3,0
// CHECK-NEXT:    6 | h1 0,2 h1 1,3 h1 2,0 h1 3,1
// CHECK-NEXT:    7 | h1 0,3 h1 1,0 h1 2,1 h1 3,2
