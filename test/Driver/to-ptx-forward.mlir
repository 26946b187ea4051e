// RUN: rm -rf %t && mkdir %t %t/again
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-to-ptx='kind=longest-first workers=132 output=%t/fwd' -o /dev/null 2>&1 | count 0
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/fwd.ptx --implicit-check-not=attention_fwd_convert
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/fwd.json
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-to-ptx='kind=longest-first workers=132 output=%t/again/fwd' -o /dev/null
// RUN: cmp %t/fwd.ptx %t/again/fwd.ptx && cmp %t/fwd.json %t/again/fwd.json
// RUN: sed -n '/entry attention_fwd_main/,/^}/p' %t/fwd.ptx | FileCheck %s --check-prefix=MAIN
// RUN: sed -n '/entry attention_fwd_prepare/,/^}/p' %t/fwd.ptx | FileCheck %s --check-prefix=PREPARE
// REQUIRES: host-supports-nvptx

// A forward for any sizes: descriptors and an order, and no sums. Any number of workers may be resident.
// PTX-DAG: .entry attention_fwd_prepare(
// PTX-DAG: .entry attention_fwd_order(
// PTX-DAG: .entry attention_fwd_main(
// JSON:      "mask": "causal",
// JSON:      "tiles": {"q":128,"kv":128},
// JSON:      "kind": "longest-first",
// JSON-NEXT: "level": "row",
// JSON:      "min_workers": 1,
// JSON-NEXT: "own": "q"
// JSON:      {"name":"o","element":"bf16","access":"write",
// JSON:      {"name":"lse","element":"f32","access":"write","shape":["batch","heads","q_rows"]
// JSON:      "workspace": [
// JSON-NEXT:   {"name":"descriptors","bytes":"512",
// JSON-NEXT:   {"name":"order","bytes":"4*(align(9 + workers, 8) + 8*batch*heads*q_tiles + 4*q_tiles*kv_tiles)",
// JSON-NEXT: ],
// JSON:      "name": "attention_fwd_main",
// JSON:      "cooperative": false,
// JSON-NEXT: "overlaps": true,
// JSON:      {"name":"lse.stride.head","type":"i64"}

// Blocks of the main entry begin while descriptors are made, and wait before they touch anything.
// MAIN-NOT:  {{ld\.global|mbarrier|bar\.sync}}
// MAIN:      griddepcontrol.wait
// MAIN:      mbarrier.init
// PREPARE-NOT: {{ld\.global|st\.}}
// PREPARE:   griddepcontrol.launch_dependents
