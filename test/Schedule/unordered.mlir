// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=unordered workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=unordered workers=4 sizes=q:1024,kv:1024' --dash-verify-schedule --dash-explain='output=%t.txt' | FileCheck %s --check-prefix=IR
// RUN: FileCheck %s --check-prefix=EXPLAIN < %t.txt
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=unordered workers=2 sizes=q:512,heads:2,kv-heads:1 parts=2' --dash-report-schedule=format=json -o %t.parts.mlir | FileCheck %s --check-prefix=JSON
// RUN: FileCheck %s --check-prefix=PARTS < %t.parts.mlir
// RUN: dash-opt %dash_examples/bwd-blocks.mlir --dash-tile='q=256 kv=256' --dash-apply-schedule='kind=unordered workers=2 sizes=q:1024' --dash-verify-schedule | FileCheck %s --check-prefix=TABLE

// Lists and visits of `ascending`, but no worker waits: workers are idle only if their lists are shorter.

// CHECK-LABEL: schedule unordered of @attention_bwd
// CHECK-NEXT:   problem      causal mask, q x kv rows 1024 x 1024, 1 head over 1 kv head, tiles 128 x 128
// CHECK-NEXT:   order        adds in any order, not deterministic, made for 4 workers, 1 part, formulas
// CHECK-NEXT:   workers      4, at least 1 resident; items may be handed out at run time
// CHECK-NEXT:   cost         compute 1.876, reduce 1.338, latency 0.337, boundary 5.793, 2 dQ buffers
// CHECK-NEXT:   makespan     35.4, lower bound 28.5: 1.245 of it
// CHECK-NEXT:   cells:       kv tile,q tile
// CHECK-EMPTY:
// CHECK-NEXT: step |  w0  w1  w2  w3
// CHECK-NEXT:    0 | 0,0 1,1 2,2 3,3
// CHECK-NEXT:    1 | 0,1 1,2 2,3 3,4
// CHECK-NEXT:    2 | 0,2 1,3 2,4 3,5
// CHECK-NEXT:    3 | 0,3 1,4 2,5 3,6
// CHECK-NEXT:    4 | 0,4 1,5 2,6 3,7
// CHECK-NEXT:    5 | 0,5 1,6 2,7 7,7
// CHECK-NEXT:    6 | 0,6 1,7 6,6   -
// CHECK-NEXT:    7 | 0,7 5,5 6,7   -
// CHECK-NEXT:    8 | 4,4 5,6   -   -
// CHECK-NEXT:    9 | 4,5 5,7   -   -
// CHECK-NEXT:   10 | 4,6   -   -   -
// CHECK-NEXT:   11 | 4,7   -   -   -

// Adds stay as they were.
// IR:     dash.schedule @attention_bwd_order kind("unordered") level(run) parts(1) workers({{[0-9]+}}) width({{[0-9]+}}) min_workers(1) unordered
// IR:     turn(kv, q) = 0>
// IR:     dash.walk (%{{.+}}, %{{.+}}, %{{.+}})
// IR-NOT: dash.ordered_reduce
// IR:     dash.reduce %{{.+}} into

// EXPLAIN:      why          not deterministic, to compare with
// EXPLAIN-NEXT: workers      4 lists, at least 1 resident at once
// EXPLAIN:      stall        0.0 % of the workers' time waiting for turns
// EXPLAIN:      level        none: adds come in any order, so the bits may differ from run to run

// With parts the shares of dK and dV are added like those of dQ, to sums that begin with zero.
// JSON:      "kind": "unordered",
// JSON-NEXT: "level": "run",
// JSON-NEXT: "deterministic": false,
// JSON:      "chains": [],
// JSON-NEXT: "partChains": []
// PARTS-COUNT-3: linalg.fill ins(%{{.+}} : f32)
// PARTS:         dash.items order(
// PARTS-NOT:     dash.store
// PARTS-COUNT-3: dash.reduce
// PARTS-COUNT-3: dash.convert

// On a bitmap the order is a table, of no turns either.
// TABLE: order(#dash.table<items = dense<{{.+}}> : tensor<4x6xi32>, visits = dense<
// TABLE-SAME{LITERAL}: [[0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 3, 0], [0, 1, 0], [0, 3, 0], [0, 2, 0], [0, 3, 0]]> : tensor<8x3xi32>>)
