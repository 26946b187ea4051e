// RUN: rm -rf %t && mkdir %t
// RUN: sed 's/ scale(%%scale)/& sequences(<?>)/' %dash_examples/fwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=8 sizes=q:300+40,kv:300+70,heads:2,kv-heads:1' --dash-verify-schedule --dash-check-kernels --dash-assign-roles -o %t/open.mlir
// RUN: FileCheck %s --input-file=%t/open.mlir --check-prefixes=CHECK,OPEN
// RUN: sed 's/ scale(%%scale)/& sequences(<[300, 300], [40, 70]>)/' %dash_examples/fwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=8 sizes=heads:2,kv-heads:1 form=table' --dash-verify-schedule --dash-check-kernels --dash-assign-roles -o %t/stated.mlir
// RUN: FileCheck %s --input-file=%t/stated.mlir --check-prefixes=CHECK,STATED
// RUN: sed 's/ scale(%%scale)/& sequences(<?>)/' %dash_examples/fwd-causal.mlir \
// RUN:   | dash-opt --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=8 sizes=q:300+40,kv:300+70,heads:2,kv-heads:1' --dash-verify-schedule --dash-check-kernels --dash-assign-roles=hand-out=true -o %t/drawn.mlir
// RUN: FileCheck %s --input-file=%t/drawn.mlir --check-prefix=DRAWN --implicit-check-not='dash.role "load-'
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=8 sizes=q:300,kv:300,heads:2,kv-heads:1' --dash-verify-schedule --dash-check-kernels --dash-assign-roles=hand-out=true \
// RUN:   | FileCheck %s --check-prefix=BATCH --implicit-check-not=hands_out
// RUN: dash-opt %t/drawn.mlir --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources -o /dev/null
// RUN: dash-opt %t/open.mlir --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources -o /dev/null

// A forward of a list is that of a batch, but for the keys that a consumer hides: each sequence has an end of its own. It
// is told which one it has beside Q, once an item. What is stored is of a sequence in any case.
// CHECK:      dash.schedule @attention_fwd_order
// OPEN:         order(#dash.formulas<
// STATED:       order(#dash.table<
// CHECK:      dash.role "load-kv" producer
// CHECK:        dash.items order(@attention_fwd_order) own(q) walk(kv)
// OPEN-NEXT:          sequences(<?>)
// STATED-NEXT:        sequences(<[300, 300], [40, 70]>)
// CHECK:          dash.band_lead at(%seq, %{{.+}}, %q)
// CHECK:      dash.role "compute" consumer
// CHECK:          %{{[^,]+}}, %[[STEPS:[^,]+]], %[[SEQUENCE:[^,]+]], %[[HEAD:[^,]+]], %[[TILE:[^,]+]] = dash.wait %q_tiles
// CHECK:          %{{[^,]+}}, %[[LEAD:[^,]+]], %[[KV:[^,]+]] = dash.wait %k_tiles
// CHECK:          dash.hide %{{.+}} band(%[[LEAD]], %[[KV]]) of(%[[SEQUENCE]]) q_rows
// CHECK:          dash.store %{{.+}}[%[[SEQUENCE]], %[[HEAD]], %[[TILE]]]
// CHECK:          dash.store_row %{{.+}}[%[[SEQUENCE]], %[[HEAD]], %[[TILE]]]

// Where items are drawn, one role has all loads: Q of the item, then K and V of its steps.
// DRAWN:      dash.workers {{.*}}hands_out {
// DRAWN:      dash.role "load" producer warps(1)
// DRAWN:        dash.load %{{.+}}[%seq, %head, %q]
// DRAWN-NEXT:   dash.num_steps
// DRAWN-NEXT:   dash.put {{.+}} into %q_tiles
// DRAWN-NEXT:   dash.walk (%kv_head, %kv) {
// DRAWN:          dash.put {{.+}} into %k_tiles
// DRAWN:          dash.put {{.+}} into %v_tiles
// DRAWN:      dash.role "compute" consumer

// A batch's order deals items as well as drawing does.
// BATCH:      dash.role "load-kv" producer
// BATCH:      dash.role "load-q" producer
