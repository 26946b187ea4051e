// RUN: sed 's/ scale(%%scale)/& fold(4)/' %dash_examples/fwd-causal.mlir > %t.mlir
// RUN: dash-opt %t.mlir --dash-tile='q=64 kv=128' | FileCheck %s --check-prefix=TILE
// RUN: dash-opt %t.mlir --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=longest-first workers=4 sizes=q:20,kv:500,heads:8,kv-heads:1' --dash-verify-schedule --dash-report-schedule -o /dev/null | FileCheck %s
// RUN: dash-opt %t.mlir --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=ascending form=table workers=4 sizes=q:1+20,kv:200+300,heads:8,kv-heads:2' --dash-verify-schedule --dash-report-schedule=format=json -o /dev/null | FileCheck %s --check-prefix=JSON

// A q tile has 16 rows of each of four heads.
// TILE-LABEL: func.func @attention_fwd(
// TILE:         dash.items unscheduled own(q) walk(kv)
// TILE-NEXT:        tiles(<q = 16, kv = 128, fold = 4>)
// TILE:           dash.load %{{.+}} -> tensor<64x128xbf16>

// Eight heads are two of the items. Of 20 rows there are two tiles, and both see all keys.
// CHECK-LABEL: schedule longest-first of @attention_fwd
// CHECK-NEXT:    problem      causal mask, q x kv rows 20 x 500, 8 heads over 1 kv head, tiles 64 x 128
// CHECK:         fold         a q tile has 16 rows of each of 4 heads that share a kv head; heads of items count in such groups
// CHECK:       step |     w0     w1     w2     w3
// CHECK-NEXT:     0 | h0 0,1 h1 0,1 h0 0,0 h1 0,0
// CHECK-NEXT:     1 | h0 1,1 h1 1,1 h0 1,0 h1 1,0

// Each kv head has one item of a token.
// JSON:     "fold": 4,
// JSON:     "tiles": {"q":64,"kv":128},
// JSON:     "heads": 8,
// JSON-DAG: "sequence":0,"head":0,"q":0,"visit":[{{\[}}0,0],[0,1]]
// JSON-DAG: "sequence":0,"head":1,"q":0,"visit":[{{\[}}1,0],[1,1]]
// JSON-DAG: "sequence":1,"head":0,"q":0,"visit":[{{\[}}0,0],[0,1],[0,2]]
// JSON-DAG: "sequence":1,"head":1,"q":1,"visit":[{{\[}}1,0],[1,1],[1,2]]
