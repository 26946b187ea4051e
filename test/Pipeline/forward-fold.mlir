// RUN: sed 's/ scale(%%scale)/& cut(256) fold(8)/' %dash_examples/fwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=8 sizes=q:20,kv:700,heads:16,kv-heads:2' --dash-verify-schedule --dash-check-kernels --dash-assign-roles -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: dash-opt %t.mlir --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources --dash-outline-program --dash-peel-walks --dash-read-order | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/ scale(%%scale)/& fold(8)/' %dash_examples/fwd-causal.mlir \
// RUN:   | not dash-opt --dash-choose-tiling='q-tile=48' --dash-tile --dash-apply-schedule='kind=longest-first workers=8 sizes=q:20,kv:700,heads:16,kv-heads:2' --dash-check-kernels -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROWS

// Tiles in slots and in registers have a row for each head, whatever the fold: the mask's edge is where it is for rows of the sequence.
// CHECK:      dash.role "load-kv" producer
// CHECK:          dash.band_lead at(%{{.+}}) mask(<causal>) tiles(<q = 16, kv = 128, fold = 8>)
// CHECK:      dash.role "load-q" producer
// CHECK:        dash.items order(@attention_fwd_order) own(q) walk(kv)
// CHECK-NEXT:       tiles(<q = 16, kv = 128, fold = 8>)
// CHECK-SAME:       cut(256)
// CHECK-NEXT:     dash.load %{{.+}} -> tensor<128x128xbf16>
// CHECK:      dash.role "compute" consumer
// CHECK:          dash.store_row %output, %{{.+}} : tensor<128x128xf32>

// ROWS: error: kernels of items that own q tiles cover q tiles of 64, 128 and 192 rows, and kv tiles of a multiple of 16 up to 256, got 48 and 128

// Descriptors have the heads of a row in front of rows: a box is 16 rows of eight heads, or a warpgroup's share.
// ORDER:      gpu.module @attention_fwd_kernels
// ORDER:        tiles = <q = 16, kv = 128, fold = 8>
// ORDER-SAME:   <expression = "heads % (kv_heads*8)", equals = 0, message = "heads must be a multiple of kv_heads and the 8 heads of a q tile">
// ORDER-SAME:   <name = "q_tiles", expression = "ceildiv(q_rows, 16)">
// ORDER-SAME:   maps[<#q, rows = 16, panels = 1, fold = 8>, <#k, rows = 128, panels = 2>, <#v, rows = 128, panels = 2>]
// ORDER-SAME:   <name = "order", bytes = "4*(align(9 + workers, 8) + 8*batch*ceildiv(heads, 8)*q_tiles*kv_pieces + 4*q_tiles*kv_tiles)"
// ORDER-SAME:   <name = "o_pieces", bytes = "4*batch*heads*kv_pieces*q_rows*128"
