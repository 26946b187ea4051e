// RUN: rm -rf %t && mkdir %t
// RUN: sed 's/ scale(%%scale)/& sequences(<?>)/' %dash_examples/fwd-causal.mlir | dash-opt --dash-to-ptx='kind=longest-first workers=132 output=%t/fwd' -o /dev/null 2>&1 | count 0
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/fwd.ptx --implicit-check-not=attention_fwd_convert
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/fwd.json
// RUN: sed 's/ scale(%%scale)/& sequences(<[300, 300], [40, 70]>)/' %dash_examples/fwd-causal.mlir | dash-opt --dash-to-ptx='kind=longest-first table=true workers=8 sizes=heads:2,kv-heads:1 output=%t/stated' -o /dev/null 2>&1 | count 0
// RUN: FileCheck %s --check-prefix=STATED --input-file=%t/stated.json --implicit-check-not=cu_seqlens --implicit-check-not=_order --implicit-check-not=_clear
// REQUIRES: host-supports-nvptx

// A forward of a list: lengths are read, and the order is made of them, in each launch. Items are of query heads.
// PTX-DAG: .entry attention_fwd_sequences(
// PTX-DAG: .entry attention_fwd_order(
// PTX-DAG: .entry attention_fwd_prepare(
// PTX-DAG: .entry attention_fwd_main(
// PTX-DAG: .entry attention_fwd_clear(
// JSON:      "level": "row",
// JSON:      "min_workers": 1,
// JSON-NEXT: "own": "q"
// JSON:      "bounds": {"min":2,"max":65536}
// JSON:      "derived": {"sequences":"bounds - 1","q_tiles":"ceildiv(q_rows + 127*(sequences - 1), 128)","kv_tiles":"ceildiv(kv_rows + 127*(sequences - 1), 128)"},
// JSON:      {"name":"lse","element":"f32","access":"write","shape":["batch","heads","q_rows"]
// JSON-NEXT: {"name":"cu_seqlens_q","element":"i32","access":"read","shape":["bounds"]
// JSON-NEXT: {"name":"cu_seqlens_kv","element":"i32","access":"read","shape":["bounds"]
// JSON:      "workspace": [
// JSON-NEXT:   {"name":"descriptors","bytes":"512",
// JSON-NEXT:   {"name":"order","bytes":"4*(align(20 + 12*sequences + q_tiles, 8) + align(1 + workers, 8) + 8*heads*q_tiles + 4*min(q_tiles*ceildiv(kv_rows, 128), ceildiv(q_rows, 128)*kv_tiles))","alignment":16,"initial":"any",
// JSON-NEXT:   {"name":"drawn","bytes":"4","alignment":16,"initial":"any","after":"any"}
// JSON-NEXT: ],
// JSON:      "name": "attention_fwd_sequences",
// JSON-NEXT: "role": "sequences",
// JSON-NEXT: "when": "always",
// JSON:      {"name":"heads","type":"i32"},
// JSON-NEXT: {"name":"q_rows","type":"i32"},
// JSON:      "name": "attention_fwd_order",
// JSON-NEXT: "role": "order",
// JSON-NEXT: "when": "always",
// JSON:      "name": "attention_fwd_prepare",
// JSON-NEXT: "role": "prepare",
// JSON-NEXT: "when": "always",
// JSON-NEXT: "grid": ["1","1","1"],
// JSON:      "name": "attention_fwd_main",
// JSON:      "cooperative": false,
// JSON:      {"name":"q_tiles","type":"i32"},
// JSON-NEXT: {"name":"scale","type":"f32"}
// JSON:      "name": "attention_fwd_clear",
// JSON-NEXT: "role": "clear",
// JSON-NEXT: "when": "asked",
// JSON-NEXT: "grid": ["workers","1","1"],

// Of stated lengths the launcher copies records and order from a file.
// STATED:      "q_rows": {"value":340},
// STATED-NEXT: "kv_rows": {"value":370}
// STATED:      "derived": {"sequences":"2",
// STATED:      {"name":"order","bytes":"{{[0-9]+}}","alignment":16,"initial":"file",
// STATED:      "order": {"source":"file",
// STATED:      "name": "attention_fwd_prepare",
// STATED:      "name": "attention_fwd_main",
