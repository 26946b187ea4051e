// RUN: sed 's/ scale(%%scale)/& cut(256)/' %dash_examples/fwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=8 sizes=q:300,kv:700,heads:2,kv-heads:1' --dash-verify-schedule --dash-check-kernels --dash-assign-roles -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir --implicit-check-not='dash.channel "out"'
// RUN: dash-opt %t.mlir --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources --dash-outline-program --dash-peel-walks --dash-read-order | FileCheck %s --check-prefix=ORDER

// Where keys are cut, a consumer is told the head that it writes: that of its piece. Threads write what a piece makes, so
// results have no slots.
// CHECK:      dash.role "load-q" producer
// CHECK:        dash.items order(@attention_fwd_order) own(q) walk(kv)
// CHECK-NEXT:       cut(256) (%[[SEQ:.+]], %[[HEAD:.+]], %[[Q:.+]], %[[PIECE_HEAD:.+]]) {
// CHECK-NEXT:     %[[TILE:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]]
// CHECK-NEXT:     %[[STEPS:.+]] = dash.num_steps
// CHECK-NEXT:     dash.put %[[TILE]], %[[STEPS]], %[[SEQ]], %[[PIECE_HEAD]], %[[Q]] into %q_tiles
// CHECK:      dash.role "compute" consumer
// CHECK:          %{{[^,]+}}, %{{[^,]+}}, %[[SEQUENCE:[^,]+]], %[[TOLD:[^,]+]], %[[OF_Q:[^,]+]] = dash.wait %q_tiles
// CHECK:          dash.store_row %output, %{{.+}}[%[[SEQUENCE]], %[[TOLD]], %[[OF_Q]]] : tensor<128x128xf32>
// CHECK-NEXT:     dash.store_row %lse, %{{.+}}[%[[SEQUENCE]], %[[TOLD]], %[[OF_Q]]] : tensor<128xf32>

// ORDER:      dash.role "load-q" producer
// ORDER:        %sequence, %kv_head, %kv_tile, {{.+}} = dash.read_item[%[[PLACE:.+]]]
// ORDER-NEXT:   %turn, %is_last = dash.read_part[%[[PLACE]]]
// ORDER-NEXT:   dash.load %{{.+}}[%sequence, %kv_head, %kv_tile]
// ORDER:        dash.put %{{.+}}, %{{.+}}, %sequence, %turn, %kv_tile into %q_tiles
// ORDER:      gpu.module @attention_fwd_kernels
// ORDER:        own = q, cut = 256>
// ORDER-SAME:   <name = "kv_pieces", expression = "ceildiv(kv_rows, 256)">
// ORDER-SAME:   <name = "order", bytes = "4*(align(9 + workers, 8) + 8*batch*heads*q_tiles*kv_pieces + 4*q_tiles*kv_tiles)"
// ORDER-SAME:   <name = "o_pieces", bytes = "4*batch*heads*kv_pieces*q_rows*128"
// ORDER-SAME:   <name = "lse_pieces", bytes = "4*batch*heads*kv_pieces*q_rows"
