// RUN: sed 's/ scale(%%scale)/& cut(256)/' %dash_examples/fwd-causal.mlir > %t.mlir
// RUN: dash-opt %t.mlir --dash-tile='q=128 kv=128' | FileCheck %s --check-prefix=TILE
// RUN: dash-opt %t.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=longest-first workers=4 sizes=q:200,kv:900,heads:2' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s
// RUN: dash-opt %t.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=ascending form=table workers=4 sizes=q:200,kv:900,heads:2' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=TABLE
// RUN: dash-opt %t.mlir --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=auto workers=4 sizes=q:1+200,kv:900+300,heads:1' --dash-verify-schedule --dash-report-schedule=format=json -o /dev/null | FileCheck %s --check-prefix=JSON

// What a piece makes goes to memory of its own, which is put together behind the items. A sink would be put there, too.
// TILE-LABEL: func.func @attention_fwd(
// TILE-SAME:      %{{[^:]+}}: {{[^%]+}}, %[[K:[^:]+]]: {{[^%]+}}, %{{[^:]+}}: {{[^%]+}}, %[[O:[^:]+]]: {{[^%]+}}, %[[LSE:[^:]+]]: {{[^%]+}}
// TILE:         %[[ROWS:.+]] = memref.dim %[[K]]
// TILE:         %[[COUNT:.+]] = arith.ceildivui %[[ROWS]]
// TILE:         arith.muli %{{.+}}, %[[COUNT]]
// TILE:         %[[LSE_PIECES:.+]] = memref.alloc({{.+}}) : memref<?x?x?xf32>
// TILE:         %[[O_PIECES:.+]] = memref.alloc({{.+}}) : memref<?x?x?x128xf32>
// TILE:         linalg.fill {{.+}} outs(%[[LSE_PIECES]]
// TILE:         dash.items unscheduled own(q) walk(kv)
// TILE:             cut(256) (%[[SEQ:.+]], %{{.+}}, %[[TILE:.+]], %[[HEAD:.+]]) {
// TILE:           %[[OUT:.+]], %[[ROW:.+]] = dash.finish
// TILE-NEXT:      dash.store_row %[[OUT]], %[[O_PIECES]][%[[SEQ]], %[[HEAD]], %[[TILE]]] : tensor<128x128xf32> -> memref<?x?x?x128xf32>
// TILE-NEXT:      dash.store_row %[[ROW]], %[[LSE_PIECES]][%[[SEQ]], %[[HEAD]], %[[TILE]]]
// TILE:         dash.combine %[[O_PIECES]], %[[LSE_PIECES]] into %[[O]], %[[LSE]] cut(256)

// Four pieces of two kv tiles. Both heads have a piece before the next one begins.
// CHECK-LABEL: schedule longest-first of @attention_fwd
// CHECK:         order        level row, made for 4 workers, 1 part, formulas
// CHECK-NEXT:    cut          keys in pieces of 256 rows from each sequence's start, an item walks one
// CHECK-NEXT:    items        own q tiles and walk kv tiles; nothing is summed across them, so the order keeps level row
// CHECK:       step |     w0     w1     w2     w3
// CHECK-NEXT:     0 | h0 0,1 h1 0,1 h0 2,1 h1 2,1
// CHECK-NEXT:     1 | h0 1,1 h1 1,1 h0 3,1 h1 3,1

// TABLE-LABEL: schedule ascending of @attention_fwd
// TABLE:         order        level row, made for 4 workers, 1 part, a table
// TABLE-NEXT:    cut          keys in pieces of 256 rows
// TABLE:       step |

// Pieces of a sequence count from its start.
// JSON:      "cut": 256,
// JSON:      {"worker":{{[0-9]}},"sequence":0,"head":0,"piece":0,"q":0,"visit":[{{\[}}0,0],[0,1]]}
// JSON-NEXT: {"worker":{{[0-9]}},"sequence":0,"head":0,"piece":1,"q":0,"visit":[{{\[}}0,2],[0,3]]}
// JSON-NEXT: {"worker":{{[0-9]}},"sequence":0,"head":0,"piece":2,"q":0,"visit":[{{\[}}0,4],[0,5]]}
// JSON-NEXT: {"worker":{{[0-9]}},"sequence":0,"head":0,"piece":3,"q":0,"visit":[{{\[}}0,6],[0,7]]}
// JSON-DAG:  "sequence":1,"head":0,"piece":0,"q":1,"visit":[{{\[}}0,0],[0,1]]
// JSON-DAG:  "sequence":1,"head":0,"piece":1,"q":1,"visit":[{{\[}}0,2]]
