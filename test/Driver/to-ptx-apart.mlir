// RUN: rm -rf %t && mkdir -p %t
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift parts=4 sizes=heads:4,kv-heads:1 apart=all output=%t/all' -o /dev/null
// RUN: FileCheck %s --check-prefix=PTX --implicit-check-not=ld.acquire --implicit-check-not=red.release --implicit-check-not=cp.reduce < %t/all.ptx
// RUN: FileCheck %s --check-prefixes=MANIFEST,ALL < %t/all.json
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift parts=4 sizes=heads:4,kv-heads:1 apart=parts output=%t/parts' -o /dev/null
// RUN: FileCheck %s --check-prefixes=MANIFEST,PARTS < %t/parts.json
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift parts=4 sizes=heads:4,kv-heads:1 apart=none output=%t/none' -o /dev/null
// RUN: FileCheck %s --check-prefix=NONE --implicit-check-not=apart --implicit-check-not=contributions < %t/none.json

// The order is the same, and the certificate another: it has a hash of the PTX.
// RUN: not diff %t/all.json %t/none.json

// No worker waits for a turn, and nothing is added in memory: a plain launch of any number of workers.
// PTX: .entry attention_bwd_main
// PTX: cp.async.bulk.global.shared::cta.bulk_group
// PTX: .entry attention_bwd_convert
// PTX: add.rn.ftz.f32

// MANIFEST:  "parts": 4
// ALL:       "min_workers": 1,
// ALL-NEXT:  "apart": "all"
// PARTS:     "min_workers": 132,
// PARTS-NEXT: "apart": "parts"
// ALL:       {"name":"contributions","bytes":"batch*heads*q_tiles*kv_tiles*32768","alignment":128,"initial":"any","after":"any"},
// PARTS:     {"name":"dq_sum",
// ALL:       {"name":"turns","bytes":"4*batch*heads*q_tiles","alignment":16,"initial":"any","after":"any"},
// PARTS:     {"name":"turns","bytes":"4*batch*heads*q_tiles","alignment":16,"initial":"any","after":"any"},
// MANIFEST:  {"name":"dk_contributions","bytes":"batch*kv_heads*kv_tiles*262144","alignment":128,"initial":"any","after":"any"},
// MANIFEST:  {"name":"dk_turns","bytes":"batch*kv_heads*kv_tiles*8","alignment":16,"initial":"any","after":"any"},
// MANIFEST:  {"name":"dv_contributions",
// MANIFEST:  {"name":"dv_turns",
// MANIFEST:  "role": "main"
// ALL:       "cooperative": false
// PARTS:     "cooperative": true
// MANIFEST:  "role": "convert"
// ALL:       "grid": ["batch*kv_heads*kv_tiles*4 + batch*kv_heads*kv_tiles*4 + batch*heads*q_tiles*2","1","1"]
// PARTS:     "grid": ["batch*kv_heads*kv_tiles*4 + batch*kv_heads*kv_tiles*4 + batch*heads*q_tiles","1","1"]

// NONE: "dq_sum"
