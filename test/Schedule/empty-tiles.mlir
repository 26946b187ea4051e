// RUN: dash-opt %dash_examples/bwd-window.mlir --dash-tile='q=256 kv=256' --dash-apply-schedule='kind=shift workers=3 sizes=q:768,kv:2048' --dash-verify-schedule --dash-report-schedule='format=json output=%t.keys.json' -o /dev/null
// RUN: FileCheck %s --input-file=%t.keys.json --check-prefix=KEYS
// RUN: dash-opt %dash_examples/bwd-window.mlir --dash-tile='q=256 kv=256' --dash-apply-schedule='kind=symmetric-shift workers=3 sizes=q:1024,kv:512' --dash-verify-schedule --dash-report-schedule='format=json output=%t.rows.json' -o /dev/null
// RUN: FileCheck %s --input-file=%t.rows.json --check-prefix=ROWS

// The window begins 512 columns before the first row, at column 768: three kv tiles have no task, and are items.
// KEYS:     "mask": {"causal":false,"window":[512,0],"blocks":null,"union":null}
// KEYS-DAG: {"worker":{{.}},"sequence":0,"kvHead":0,"part":0,"kv":0,"visit":[]}
// KEYS-DAG: {"worker":{{.}},"sequence":0,"kvHead":0,"part":0,"kv":1,"visit":[]}
// KEYS-DAG: {"worker":{{.}},"sequence":0,"kvHead":0,"part":0,"kv":2,"visit":[]}
// KEYS-DAG: {"worker":{{.}},"sequence":0,"kvHead":0,"part":0,"kv":3,"visit":[{{\[}}0,0]]}

// More rows than columns: the first two q tiles see nothing, and have empty chains.
// ROWS:      "chains": [
// ROWS-NEXT: {"sequence":0,"head":0,"q":0,"order":[]},
// ROWS-NEXT: {"sequence":0,"head":0,"q":1,"order":[]},
// ROWS-NEXT: {"sequence":0,"head":0,"q":2,"order":{{\[\[}}0,0]]},
