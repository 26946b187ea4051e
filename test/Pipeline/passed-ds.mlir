// dS goes from the program of dK and dV to that of dQ: one writes each tile that it computes, the other reads it and computes one product.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 256 %dash_examples/bwd-causal.mlir ds > %t/kv.mlir
// RUN: %python %dash_src/tools/scripts/part_program.py dq 256 %dash_examples/bwd-causal.mlir ds > %t/q.mlir
// RUN: dash-opt %t/kv.mlir --dash-choose-tiling | FileCheck %s --check-prefix=KEEPS
// KEEPS: #dash.tiling<tiles = <q = 64, kv = 64>, columns = 256, structure = alternating, {{.*}} slots = {do = 2, ds = 1, k = 1, out = 1, p = 1, q = 2, v = 1}>
// RUN: dash-opt %t/q.mlir --dash-choose-tiling | FileCheck %s --check-prefix=READS
// READS: #dash.tiling<tiles = <q = 128, kv = 64>, columns = 256, structure = alternating, splits = {dq = 2 x 1}, hold = [], slots = {ds = 4, k = 4, out = 2}>
// RUN: dash-opt %t/q.mlir --dash-choose-tiling='q-tile=64 slots=ds:2,k:3' | FileCheck %s --check-prefix=ASKED
// ASKED: tiles = <q = 64, kv = 64>, {{.*}} splits = {dq = 1 x 1}, {{.*}} slots = {ds = 2, k = 3, out = 2}

// Slots have the number that fits.
// RUN: dash-opt %t/q.mlir --dash-choose-tiling=q-tile=192 | FileCheck %s --check-prefix=FEWER
// FEWER: tiles = <q = 192, kv = 64>, {{.*}} splits = {dq = 3 x 1}, {{.*}} slots = {ds = 3, k = 3, out = 2}

// What computes dS passes it on before it multiplies; the role that writes it out has no order to wait for.
// RUN: dash-opt %t/kv.mlir --dash-to-ptx=kind=ascending -o /dev/null --mlir-print-ir-after=dash-assign-roles 2>&1 | FileCheck %s --check-prefix=KEEP
// KEEP:      dash.channel "ds" depth(1) : !channel_64x64xbf16
// KEEP:      dash.channel "out" depth(1)
// KEEP-NOT:  dash.channel "out1"
// KEEP:      dash.role "keep" reducer warps(1) {
// KEEP:        dash.walk (%[[HEAD:.+]], %[[Q:.+]], %{{.+}}) {
// KEEP-NEXT:     %[[TILE:.+]] = dash.wait %ds_tiles
// KEEP-NEXT:     dash.store_task %[[TILE]], %{{.+}}[%{{.+}}, %[[HEAD]], %[[Q]]] with(%{{.+}}, %{{.+}}) : tensor<64x64xbf16> -> memref<?x4096xbf16>
// KEEP-NEXT:   }
// KEEP:      dash.role "dk" consumer
// KEEP:        %[[DS:.+]] = dash.score_gradient
// KEEP-NEXT:   dash.put %[[DS]] into %ds_tiles
// KEEP:        dash.matmul %[[DS]],
// KEEP:      dash.role "dv" consumer
// KEEP-NOT:  %ds_tiles

// The reader loads no tile an item, so a channel of indices alone tells of items. A tile that the mask hides is not read.
// RUN: dash-opt %t/q.mlir --dash-to-ptx=kind=ascending -o /dev/null --mlir-print-ir-after=dash-assign-roles 2>&1 | FileCheck %s --check-prefix=READ
// READ:      dash.channel "ds" depth(4) : !channel_64x128xbf16_index_index
// READ:      dash.channel "k" depth(4) : !channel_64x256xbf16
// READ:      %item_tiles = dash.channel "item" depth(2) : !channel_index_index_index_index
// READ:      dash.role "load-kv" producer
// READ:        dash.load %{{.+}} with(%{{.+}}, %{{.+}}) mask(<causal>) : memref<?x4096xbf16> -> tensor<64x128xbf16>
// READ:      dash.role "load-q" producer
// READ-NOT:    dash.load
// READ:        dash.put %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} into %item_tiles : index, index, index, index
// READ:      dash.role "compute" consumer warps(8)
// READ:        dash.wait %item_tiles
// READ:        dash.matmul transpose %ds_tile, %k_tile accumulate
// READ-NOT:    dash.matmul

// Warpgroups with one product a step need no turns, and their walk has one stage: it stays a loop.
// RUN: dash-opt %t/q.mlir --dash-to-ptx=kind=ascending -o /dev/null --mlir-print-ir-after=dash-order-products 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER:     dash.role "compute"
// ORDER-NOT: dash.take_tensor_core
// ORDER:     dash.walk {{.*}} stages(1)
// ORDER:     dash.matmul {{.*}} stage(0)
// ORDER-NOT: stage(1)
// RUN: dash-opt %t/q.mlir --dash-to-ptx=kind=ascending -o /dev/null --mlir-print-ir-after=dash-peel-walks 2>&1 | FileCheck %s --check-prefix=PEELED
// PEELED:     dash.role "compute"
// PEELED:       scf.for {{.*}} iter_args
// PEELED-NOT:   dash.matmul
// PEELED:         dash.wait %ds_tiles
// PEELED-NEXT:    dash.wait %k_tiles
// PEELED:         dash.matmul
// PEELED-NOT:   dash.matmul

// Both are plain launches; the writer's prepare entry makes the tile of zeros, the reader has descriptors alone to make.
// RUN: dash-opt %t/kv.mlir --dash-to-ptx='kind=ascending output=%t/kv' -o /dev/null
// RUN: dash-opt %t/q.mlir --dash-to-ptx='kind=longest-first output=%t/q' -o /dev/null
// RUN: %python %dash_src/tools/scripts/list_entries.py %t/kv.json | FileCheck %s --check-prefix=ENTRIES
// RUN: %python %dash_src/tools/scripts/list_entries.py %t/q.json | FileCheck %s --check-prefix=ENTRIES
// ENTRIES:     at least 1 resident
// ENTRIES:     attention_bwd_order
// ENTRIES:     attention_bwd_prepare
// ENTRIES:     attention_bwd_main
// ENTRIES-NOT: cooperative
// ENTRIES-NOT: attention_bwd_convert

// Each of q and v may have its own head dim, and queries may share heads of k and v.
// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 192,128 %dash_examples/bwd-causal.mlir ds > %t/kv-two.mlir
// RUN: dash-opt %t/kv-two.mlir --dash-choose-tiling | FileCheck %s --check-prefix=TWO
// TWO: columns = 192, columns_v = 128, structure = alternating, {{.*}} slots = {do = {{[0-9]+}}, ds = {{[0-9]+}}, k = 1,
// RUN: %python %dash_src/tools/scripts/part_program.py dq 192,128 %dash_examples/bwd-causal.mlir ds | dash-opt --dash-to-ptx='kind=longest-first sizes=q:512,kv:512,batch:1,heads:8,kv-heads:2' -o /dev/null
// RUN: dash-opt %t/kv-two.mlir --dash-to-ptx='kind=ascending sizes=q:512,kv:512,batch:1,heads:8,kv-heads:2' -o /dev/null
// REQUIRES: python, host-supports-nvptx
