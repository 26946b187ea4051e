// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128 split=dq' --dash-apply-schedule='function=attention_bwd#1 kind=longest-first workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128 split=dq' --dash-apply-schedule='function=attention_bwd#1 kind=ascending workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=ASCENDING
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128 split=dq' --dash-apply-schedule='function=attention_bwd#1 kind=auto workers=4 sizes=q:1024,kv:1024' --dash-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128 split=dq' --dash-apply-schedule='function=attention_bwd#1 kind=longest-first workers=4 sizes=q:1024,kv:1024' --dash-compare -o /dev/null | FileCheck %s --check-prefix=COMPARE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128 split=dq' --dash-apply-schedule='function=attention_bwd#1 kind=longest-first workers=4 sizes=q:1024,kv:1024' --remarks-filter='dash.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=longest-first workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=OF-KV
// RUN: sed 's/mask(<causal>)/mask(<window = [0, -1]>)/' %dash_examples/bwd-causal.mlir | dash-opt --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=longest-first level=machine workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=LEFT
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=auto workers=4 sizes=q:1024,kv:1024' --dash-compare --dash-explain -o /dev/null | FileCheck %s --check-prefix=NOT-CHOSEN

// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 128 %dash_examples/bwd-causal.mlir > %t.kv.mlir
// RUN: dash-opt %t.kv.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=auto level=machine workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=NO-CHAINS
// RUN: dash-opt %t.kv.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-compare -o /dev/null | FileCheck %s --check-prefix=OF-PARTS
// RUN: not dash-opt %t.kv.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=unordered workers=4 sizes=q:1024,kv:1024' 2>&1 | FileCheck %s --check-prefix=UNORDERED
// RUN: dash-opt %t.kv.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=4 sizes=q:1024,kv:1024' --dash-report-schedule=format=json -o /dev/null > %t.json
// RUN: dash-opt %t.kv.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=file path=%t.json sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule=format=json -o /dev/null | sed s/file/shift/ | diff %t.json -
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=4 sizes=q:1024,kv:1024' --dash-report-schedule=format=json -o /dev/null > %t.chains.json
// RUN: not dash-opt %t.kv.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=file path=%t.chains.json sizes=q:1024,kv:1024' 2>&1 | FileCheck %s --check-prefix=CHAINS
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=longest-first workers=2 sizes=q:640,kv:640,heads:5,kv-heads:5' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=BUNDLES
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=longest-first workers=7 sizes=q:640,kv:640,heads:9,kv-heads:9' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=FORMULAS
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=longest-first workers=7 sizes=q:640,kv:640,heads:9,kv-heads:9 form=table' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=DEALT
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=ascending workers=7 sizes=q:640,kv:640,heads:9,kv-heads:9 form=table' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=IN-TURN
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=longest-first workers=132 sizes=q:20000,kv:20000,heads:8,kv-heads:8' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=LONG
// RUN: sed 's/<causal>/<full>/' %dash_examples/fwd-causal.mlir | dash-opt --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=longest-first workers=4 sizes=q:256,kv:256,heads:4,kv-heads:4' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=FULL
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=longest-first workers=16 sizes=q:256,kv:256,heads:20,kv-heads:20' --dash-verify-schedule --dash-report-schedule=max-workers=0 -o /dev/null | FileCheck %s --check-prefix=FEW
// REQUIRES: python

// Items own q tiles and walk kv tiles upward; under a causal mask the last q tile has most, and goes first. Nothing waits.

// CHECK-LABEL: schedule longest-first of @attention_bwd#1
// CHECK-NEXT:   problem      causal mask, q x kv rows 1024 x 1024, 1 head over 1 kv head, tiles 128 x 128
// CHECK-NEXT:   order        level run, made for 4 workers, 1 part, formulas
// CHECK-NEXT:   items        own q tiles and walk kv tiles; nothing is summed across them, so the order keeps level machine
// CHECK-NEXT:   workers      4, at least 1 resident; items may be handed out at run time
// CHECK-NEXT:   cost         compute 1.358, boundary 4.616
// CHECK-NEXT:   makespan     21.5, lower bound 21.5: 1.000 of it
// CHECK-NEXT:   cells:       kv tile,q tile
// CHECK-EMPTY:
// CHECK-NEXT: step |  w0  w1  w2  w3
// CHECK-NEXT:    0 | 0,7 0,6 0,5 0,4
// CHECK-NEXT:    1 | 1,7 1,6 1,5 1,4
// CHECK-NEXT:    2 | 2,7 2,6 2,5 2,4
// CHECK-NEXT:    3 | 3,7 3,6 3,5 3,4
// CHECK-NEXT:    4 | 4,7 4,6 4,5 4,4
// CHECK-NEXT:    5 | 5,7 5,6 5,5 0,3
// CHECK-NEXT:    6 | 6,7 6,6 0,2 1,3
// CHECK-NEXT:    7 | 7,7 0,1 1,2 2,3
// CHECK-NEXT:    8 | 0,0 1,1 2,2 3,3

// ASCENDING-LABEL: schedule ascending of @attention_bwd#1
// ASCENDING:         makespan     {{.+}}: 1.{{[0-9]+}} of it
// ASCENDING:       step |  w0  w1  w2  w3
// ASCENDING-NEXT:     0 | 0,0 0,1 0,2 0,3
// ASCENDING-NEXT:     1 | 0,4 1,1 1,2 1,3

// EXPLAIN-LABEL: schedule longest-first of @attention_bwd#1
// EXPLAIN:         kind         longest-first: kv tiles first to last, items with the most of them first; no worker is left with a long one
// EXPLAIN-NOT:     why
// EXPLAIN:         workers      4 lists, at least 1 resident at once
// EXPLAIN-NOT:     dQ in flight
// EXPLAIN:         level        run; nothing is summed across items that own q tiles, so the order keeps level machine
// EXPLAIN:         faster       no other kind
// EXPLAIN:         not faster   kind=ascending

// COMPARE:      kinds of order for @attention_bwd#1
// COMPARE:      longest-first
// COMPARE-NEXT: ascending
// COMPARE-NOT:  shift

// REMARK: no costs are measured for dq at head dims 128 and 128: those of dq at head dims 192 and 128 are taken, as they are

// Of items that own kv tiles the first have most. Chains go as items are issued.
// OF-KV-LABEL: schedule longest-first of @attention_bwd
// OF-KV:       step |  w0  w1  w2  w3
// OF-KV-NEXT:     0 | 0,0 1,1 2,2 3,3
// OF-KV-NEXT:     1 | 0,1 1,2 2,3 3,4
// OF-KV:            | 0,5 1,6 2,7 4,4

// Without a right bound the last ones have most.
// LEFT-LABEL: schedule longest-first of @attention_bwd
// LEFT:       order        level machine
// LEFT:       step |  w0  w1  w2  w3
// LEFT-NEXT:     0 | 7,0 6,0 5,0 4,0
// LEFT-NEXT:     1 | 7,1 6,1 5,1 4,1

// Nothing takes it by itself where dQ is summed across items.
// NOT-CHOSEN-NOT: longest-first

// Without dQ nothing waits, so the order keeps level machine and its length is that of its lists.
// NO-CHAINS-LABEL: schedule longest-first of @attention_bwd
// NO-CHAINS:       order        level machine, made for 32 workers, 1 part, formulas
// NO-CHAINS-NEXT:  items        own kv tiles and walk q tiles; nothing is summed across them, so the order keeps level machine
// NO-CHAINS-NEXT:  workers      4, at least 1 resident; items may be handed out at run time
// NO-CHAINS-NEXT:  cost         compute 0.999, boundary 1.875
// NO-CHAINS-NEXT:  makespan     12.7, lower bound 12.7: 1.000 of it
// OF-PARTS:      longest-first
// OF-PARTS-NEXT: ascending
// OF-PARTS-NOT:  shift
// UNORDERED: error: schedule 'unordered' serves no items that own kv tiles and have no dQ: take ascending, descending, longest-first, shift, shortest-first, symmetric-shift, synthesized or auto
// CHAINS: error: order file '{{.*}}': {{.*}}chains: expected none, because a program without dQ sums nothing across items, got 8

// Items that own q tiles go in bundles of heads. The first one goes up the workers, the next one down.

// BUNDLES-LABEL: schedule longest-first of @attention_fwd
// BUNDLES:         makespan      84.0, lower bound 82.2: 1.023 of it
// BUNDLES:       step |     w0     w1
// BUNDLES-NEXT:     0 | h0 0,4 h0 0,3
// BUNDLES:          7 | h0 0,0 h1 0,4
// BUNDLES-NEXT:     8 | h1 0,3 h1 1,4
// BUNDLES:         15 | h2 0,4 h2 0,3

// What the workers do not divide leaves an item too many. A table deals each item to the worker that is free first. Orders of
// other kinds stay as they are.

// FORMULAS:      order        level row, made for 7 workers, 1 part, formulas
// FORMULAS:      makespan     46.9, lower bound 42.2: 1.110 of it
// DEALT:         order        level row, made for 7 workers, 1 part, a table
// DEALT:         makespan     44.6, lower bound 42.2: 1.055 of it
// IN-TURN:       order        level row, made for 7 workers, 1 part, a table
// IN-TURN:       makespan     48.8, lower bound 42.2: 1.156 of it
// IN-TURN:         0 | h0 0,0 h0 0,1 h0 0,2 h0 0,3 h0 0,4 h1 0,0 h1 0,1

// A head of 157 tiles on 132 workers: two heads side by side.

// LONG:          makespan     {{[0-9.]+}}, lower bound {{[0-9.]+}}: 1.041 of it

// Equally long ones go head by head.

// FULL:          step |     w0     w1     w2     w3
// FULL-NEXT:        0 | h0 0,0 h0 0,1 h1 0,0 h1 0,1
// FULL-NEXT:        1 | h0 1,0 h0 1,1 h1 1,0 h1 1,1
// FULL-NEXT:        2 | h2 0,0 h2 0,1 h3 0,0 h3 0,1

// Heads of few tiles: a bundle has an item for each worker. The last one has what is left, too.

// FEW:           step |      w0      w1 {{.*}} w14     w15
// FEW-NEXT:         0 |  h0 0,1  h1 0,1 {{.*}} h7 0,1  h0 0,0 {{.*}}  h7 0,0
