// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=synthesized workers=3 sizes=q:512,heads:2' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s

// Three workers share two heads of ten tasks each: none waits, and the makespan is that of seven computes and a reduction.

// CHECK-LABEL: schedule synthesized of @attention_bwd
// CHECK-NEXT:   problem      causal mask, q x kv rows 512 x 512, 2 heads over 2 kv heads, tiles 128 x 128
// CHECK-NEXT:   order        level run, made for 3 workers, 1 part, a table
// CHECK-NEXT:   workers      3, at least 3 resident; items may not be handed out at run time
// CHECK-NEXT:   cost         compute 1.876, reduce 1.338, latency 0.337, boundary 5.793, 2 dQ buffers
// CHECK-NEXT:   makespan     31.8, lower bound 28.0: 1.139 of it
// CHECK-NEXT:   cells:       h head, kv tile,q tile
// CHECK-EMPTY:
// CHECK-NEXT: step |     w0     w1     w2
// CHECK-NEXT:    0 | h0 0,3 h1 0,3 h0 1,2
// CHECK-NEXT:    1 | h0 0,1 h1 0,2 h0 1,3
// CHECK-NEXT:    2 | h0 0,0 h1 0,1 h0 1,1
// CHECK-NEXT:    3 | h0 0,2 h1 0,0 h1 1,3
// CHECK-NEXT:    4 | h0 2,3 h1 2,2 h1 1,1
// CHECK-NEXT:    5 | h0 2,2 h1 2,3 h1 1,2
// CHECK-NEXT:    6 | h0 3,3 h1 3,3      -
