// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shortest-first workers=4 sizes=q:512,kv:512' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shortest-first workers=4 sizes=q:512,kv:512,heads:2' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=FULL
// RUN: sed 's/mask(<causal>)/mask(<window = [200, -1]>)/' %dash_examples/bwd-causal.mlir | dash-opt --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shortest-first workers=4 sizes=q:512,kv:512' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=LEFT
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shortest-first workers=4 level=machine for-workers=2 sizes=q:512,kv:512' --dash-verify-schedule --dash-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

// The shortest walk is issued first, and each begins on the diagonal: no two are at one q tile.

// CHECK-LABEL: schedule shortest-first of @attention_bwd
// CHECK:         workers      4, at least {{[0-9]}} resident; items may be handed out at run time
// CHECK:       step |  w0  w1  w2  w3
// CHECK-NEXT:     0 | 3,3 2,2 1,1 0,0
// CHECK-NEXT:     1 |   - 2,3 1,2 0,1
// CHECK-NEXT:     2 |   -   - 1,3 0,2
// CHECK-NEXT:     3 |   -   -   - 0,3

// Without a bound items of a head follow one another; heads go side by side.

// FULL-LABEL: schedule shortest-first of @attention_bwd
// FULL:       step |     w0     w1     w2     w3
// FULL-NEXT:     0 | h0 0,0 h1 0,0 h0 1,0 h1 1,0
// FULL-NEXT:     1 | h0 0,1 h1 0,1 h0 1,1 h1 1,1
// FULL-NEXT:     2 | h0 0,2 h1 0,2 h0 1,2 h1 1,2
// FULL-NEXT:     3 | h0 0,3 h1 0,3 h0 1,3 h1 1,3
// FULL-NEXT:     4 | h0 2,0 h1 2,0 h0 3,0 h1 3,0

// With a left bound alone the first kv tile is shortest, and the edge is at the end of a walk.

// LEFT:       step |  w0  w1  w2  w3
// LEFT-NEXT:     0 | 0,2 1,3 2,3 3,3
// LEFT-NEXT:     1 | 0,1 1,2 2,2 3,2
// LEFT-NEXT:     2 | 0,0 1,1 2,1 3,1
// LEFT-NEXT:     3 |   - 1,0 2,0 3,0

// Bits do not know for how many workers an order was made, so level machine costs nothing.

// EXPLAIN: kind         shortest-first: chains from the mask's edge, the shortest items first; for lists dealt by work
// EXPLAIN: why          made for lists that a launch deals by work: items that begin together never meet
