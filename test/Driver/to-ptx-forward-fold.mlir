// RUN: rm -rf %t && mkdir %t
// RUN: sed 's/ scale(%%scale)/& fold(4)/' %dash_examples/fwd-causal.mlir | dash-opt --dash-to-ptx='kind=longest-first workers=132 output=%t/fwd' -o /dev/null 2>&1 | count 0
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/fwd.ptx
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/fwd.json
// RUN: sed 's/ scale(%%scale)/& cut(256) fold(64)/' %dash_examples/fwd-causal.mlir | dash-opt --dash-to-ptx='kind=longest-first table=true workers=8 sizes=q:3,kv:700,batch:1,heads:64,kv-heads:1 output=%t/cut' -o /dev/null 2>&1 | count 0
// RUN: FileCheck %s --check-prefix=CUT --input-file=%t/cut.json
// REQUIRES: host-supports-nvptx

// Tiles have as many rows for each sequence as before, over the fold; and so many heads are one of the order's.
// JSON:      "tiles": {"q":32,"kv":128},
// JSON:      "own": "q",
// JSON-NEXT: "fold": 4
// JSON:      {"expression":"heads % (kv_heads*4)","equals":0,"message":"heads must be a multiple of kv_heads and the 4 heads of a q tile"}
// JSON:      "derived": {"q_tiles":"ceildiv(q_rows, 32)",
// JSON:      {"name":"order","bytes":"4*(align(9 + workers, 8) + 8*batch*ceildiv(heads, 4)*q_tiles + 4*q_tiles*kv_tiles)"

// Two copies of Q's panels, an item's S, and the row of a head in its LSE.
// PTX:      .entry attention_fwd_main(
// PTX:      cp.async.bulk.tensor.5d.shared::cluster.global
// PTX:      shr.u32 %{{.+}}, %{{.+}}, 2;
// PTX:      cp.async.bulk.tensor.5d.global.shared::cta

// A block of the entry that puts pieces together has as many rows of a head as a tile.
// CUT:      "tiles": {"q":2,"kv":128},
// CUT:      "cut": 256,
// CUT-NEXT: "fold": 64
// CUT:      "role": "combine",
// CUT:      "grid": ["batch*heads*q_tiles*1","1","1"],
