// RUN: rm -rf %t && mkdir %t
// RUN: dash-opt %dash_examples/fwd-causal.mlir --dash-choose-tiling --remarks-filter-passed=dash-choose-tiling -o %t/chosen.mlir 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --check-prefix=CHOSEN --input-file=%t/chosen.mlir
// RUN: dash-opt %t/chosen.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=longest-first workers=8 assume=true' --dash-verify-schedule --dash-check-kernels --dash-assign-roles -o %t/roles.mlir
// RUN: FileCheck %s --check-prefix=ROLES --input-file=%t/roles.mlir
// RUN: dash-opt %t/roles.mlir --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources -o %t/planned.mlir
// RUN: FileCheck %s --check-prefix=ORDER --input-file=%t/planned.mlir
// RUN: sed 's/overlapping/alternating/' %t/roles.mlir | dash-opt --dash-order-products --dash-place-releases | FileCheck %s --check-prefix=TURNS
// RUN: sed 's/x128xbf16/x256xbf16/g' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=WIDE
// RUN: sed 's/x128xbf16/x64xbf16/g' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=NARROW
// RUN: sed 's/x128xbf16/x96xbf16/g' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=MIDDLE
// RUN: sed 's/^!q = .*/&\n!w = memref<?x?x?x192xbf16, strided<[?, ?, ?, 1], offset: ?>>/; s/%%q: !q, %%k: !kv/%%q: !w, %%k: !w/; s/: !q, !kv, !kv)/: !w, !w, !kv)/' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=TWO
// RUN: sed 's/x128xbf16/x64xbf16/g; s/<causal>/<causal, blocks = #dash.blocks<q = 128, kv = 128, bits = dense<true> : tensor<2x2xi1>>>/' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=BITMAP
// RUN: sed 's/level(row) scale(%%scale)/& sequences(<?>)/' %dash_examples/fwd-causal.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=LIST

// What a forward's stages decide, from its tiling to its plan. Its kv tile follows from the head dim.

// REMARK: remark: [Passed] tiling | Category:dash-choose-tiling | columns=128, columnsV=128, hold=q, kv=128, q=128, registers=214, sharedBytes=197632, structure=overlapping
// CHOSEN: #dash.tiling<tiles = <q = 128, kv = 128>, columns = 128, structure = overlapping, splits = {o = 2 x 1, s = 2 x 1}, hold = [q], slots = {k = 2, q = 1, v = 2}>
// LIST: hold = [], slots = {k = 2, q = 2, v = 2}>
// NARROW: #dash.tiling<tiles = <q = 192, kv = 128>, columns = 64, structure = overlapping, splits = {o = 3 x 1, s = 3 x 1}, hold = [], slots = {k = 2, q = 2, v = 2}>
// BITMAP: #dash.tiling<tiles = <q = 128, kv = 128>, columns = 64,
// WIDE: #dash.tiling<tiles = <q = 128, kv = 64>, columns = 256, structure = overlapping, splits = {o = 2 x 1, s = 2 x 1}, hold = [], slots = {k = 2, q = 1, v = 2}>
// MIDDLE: #dash.tiling<tiles = <q = 192, kv = 96>, columns = 96, structure = overlapping, splits = {o = 3 x 1, s = 3 x 1}, hold = [], slots = {k = 2, q = 2, v = 2}>
// TWO: #dash.tiling<tiles = <q = 128, kv = 112>, columns = 192, columns_v = 128, structure = overlapping, splits = {o = 2 x 1, s = 2 x 1}, hold = [q], slots = {k = 2, q = 1, v = 2}>

// Two roles load: K and V of each step, and Q of each item. A step is told which kv tile it has,
// because the end of the rows may cut it.
// ROLES:      dash.workers structure(overlapping)
// ROLES:      dash.channel "q" depth(1) held : !channel_128x128xbf16_index_index_index_index
// ROLES:      dash.channel "k" depth(2) : !channel_128x128xbf16_index_index
// ROLES:      dash.channel "v" depth(2) : !channel_128x128xbf16
// ROLES:      dash.channel "out" depth(2) : !channel_128x64xbf16
// ROLES:      dash.role "load-kv" producer warps(1)
// ROLES:        dash.items order(@attention_fwd_order) own(q) walk(kv)
// ROLES:        dash.walk (%[[KV_HEAD:.+]], %[[KV:.+]]) {
// ROLES:          %[[K:.+]] = dash.load %{{.+}}[%seq, %[[KV_HEAD]], %[[KV]]]
// ROLES:          %[[LEAD:.+]] = dash.band_lead at(%seq, %[[KV]], %q) mask(<causal>)
// ROLES:          dash.put %[[K]], %[[LEAD]], %[[KV]] into %k_tiles
// ROLES:          dash.put %{{.+}} into %v_tiles
// ROLES:      dash.role "load-q" producer warps(1)
// ROLES:          dash.put %{{.+}}, %{{.+}}, %seq, %head, %q into %q_tiles
// ROLES:      dash.role "compute" consumer warps(8)
// ROLES:        dash.wait %q_tiles
// ROLES:          %[[K_TILE:.+]], %[[TOLD:.+]], %[[TILE:.+]] = dash.wait %k_tiles
// ROLES:          dash.hide %{{.+}} band(%[[TOLD]], %[[TILE]]) q_rows
// ROLES-NOT:      dash.visible

// S of the next step goes first, then O: its sums are scaled while S runs. The softmax runs during
// O, and P is rounded when O has read the P before.
// ORDER:      dash.walk {{.*}} stages(2)
// ORDER-NEXT:   dash.take_tensor_core stage(1)
// ORDER-NEXT:   dash.wait %k_tiles stage(0)
// ORDER-NEXT:   %[[S:.+]] = dash.matmul %{{.+}}, transpose %{{.+}} stage(0) split(<2 x 1>)
// ORDER-NEXT:   %[[SCALED:.+]] = dash.rescale %{{.+}}, %{{.+}} stage(1)
// ORDER-NEXT:   dash.wait %v_tiles stage(1)
// ORDER-NEXT:   dash.matmul %[[P:.+]], %{{.+}} accumulate(%[[SCALED]]) stage(1) split(<2 x 1>)
// ORDER-NEXT:   dash.give_tensor_core stage(1)
// ORDER-NEXT:   dash.hide %[[S]]
// ORDER-NEXT:   dash.release %k_tiles stage(0)
// ORDER-NEXT:   dash.running_max {{.*}} stage(0)
// ORDER-NEXT:   dash.release %v_tiles stage(1)
// ORDER-NEXT:   dash.exponential {{.*}} stage(0)
// ORDER-NEXT:   dash.running_sum {{.*}} stage(0)
// ORDER-NEXT:   %[[P]] = dash.round {{.*}} stage(0)
// ORDER-NEXT:   dash.yield
// ORDER:      dash.release %q_tiles
// ORDER:      dash.finish
// ORDER:      dash.store_row
// ORDER:      dash.store {{.*}} through %out_tiles

// Warpgroups that alternate issue O before S.
// TURNS:      dash.take_tensor_core stage(1)
// TURNS-NEXT: dash.rescale {{.*}} stage(1)
// TURNS-NEXT: dash.wait %v_tiles stage(1)
// TURNS-NEXT: dash.matmul {{.*}} accumulate({{.*}}) stage(1)
// TURNS-NEXT: dash.wait %k_tiles stage(0)
// TURNS-NEXT: dash.matmul {{.*}} stage(0)
// TURNS-NEXT: dash.give_tensor_core stage(1)
