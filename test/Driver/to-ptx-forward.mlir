// RUN: rm -rf %t && mkdir %t %t/again
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-to-ptx='kind=longest-first workers=132 output=%t/fwd' -o /dev/null 2>&1 | count 0
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/fwd.ptx --implicit-check-not=attention_fwd_convert
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/fwd.json
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-to-ptx='kind=longest-first workers=132 output=%t/again/fwd' -o /dev/null
// RUN: cmp %t/fwd.ptx %t/again/fwd.ptx && cmp %t/fwd.json %t/again/fwd.json
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
// JSON:      {"name":"lse.stride.head","type":"i64"}
