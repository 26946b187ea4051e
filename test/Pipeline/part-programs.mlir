// Programs of a part of the gradients: dK and dV have a consumer each where a thread cannot hold both sums, dQ has LSE and delta by rows.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 256 %dash_examples/bwd-causal.mlir > %t/kv.mlir
// RUN: %python %dash_src/tools/scripts/part_program.py dq 256 %dash_examples/bwd-causal.mlir > %t/q.mlir
// RUN: dash-opt %t/kv.mlir --dash-choose-tiling | FileCheck %s --check-prefix=KV
// KV: #dash.tiling<tiles = <q = 64, kv = 64>, columns = 256, structure = alternating, splits = {dk = 1 x 1, dp = 1 x 1, dv = 1 x 1, s = 1 x 1}, hold = [], slots = {do = 2, k = 1, out = 1, p = 1, q = 2, v = 1}>
// RUN: dash-opt %t/q.mlir --dash-choose-tiling | FileCheck %s --check-prefix=Q
// Q: #dash.tiling<tiles = <q = 128, kv = 64>, columns = 256, structure = alternating, splits = {dp = 2 x 1, dq = 2 x 1, s = 2 x 1}, hold = [], slots = {do = 1, k = 2, out = 0, q = 1, v = 1}>
// Where dQ is to have slots of its own, kv tiles have fewer rows.
// RUN: dash-opt %t/q.mlir --dash-choose-tiling=slots=out:1 | FileCheck %s --check-prefix=OUT
// OUT: tiles = <q = 128, kv = 48>, {{.*}} slots = {do = 1, k = 2, out = 1, q = 1, v = 1}>
// It does not take the place of a narrower dO.
// RUN: %python %dash_src/tools/scripts/part_program.py dq 256,192 %dash_examples/bwd-causal.mlir > %t/q-two.mlir
// RUN: dash-opt %t/q-two.mlir --dash-choose-tiling | FileCheck %s --check-prefix=NARROWER
// NARROWER: tiles = <q = 128, kv = 64>, columns = 256, columns_v = 192, {{.*}} slots = {do = 1, k = 2, out = 1, q = 1, v = 1}>
// RUN: not dash-opt %t/q-two.mlir --dash-choose-tiling=kv-tile=80 2>&1 | FileCheck %s --check-prefix=NO-PLACE
// NO-PLACE: slots take 245760 bytes of shared memory, but a block has 232448
// RUN: sed s/x256xbf16/x192xbf16/g %t/kv.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=KV192
// KV192: columns = 192, structure = alternating, {{.*}} hold = [k, v], slots = {do = 3, k = 1, out = 1, p = 1, q = 3, v = 1}>
// RUN: dash-opt %t/kv.mlir --dash-choose-tiling='structure=overlapping slots=p:1' | FileCheck %s --check-prefix=OVERLAPPING
// OVERLAPPING: structure = overlapping, {{.*}} hold = [], slots = {k = 1, out = 1, p = 1, q_do = 2, v = 1}>
// Blocks of a bitmap are whole tiles, so dQ may take fewer rows of K and V.
// RUN: sed 's/mask(<causal>)/mask(<causal, blocks = #dash.blocks<q = 128, kv = 128, bits = dense<true> : tensor<2x2xi1>>>)/' %t/q.mlir > %t/blocks.mlir
// RUN: dash-opt %t/blocks.mlir --dash-choose-tiling | FileCheck %s --check-prefix=BLOCKS
// RUN: dash-opt %t/blocks.mlir --dash-to-ptx='kind=longest-first sizes=q:256,kv:256,batch:1,heads:2,kv-heads:1' -o /dev/null
// BLOCKS: tiles = <q = 128, kv = 64>
// RUN: sed 's/kv = 128, bits/kv = 32, bits/' %t/blocks.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=OF-32
// OF-32: tiles = <q = 128, kv = 32>, {{.*}} out = 2,
// RUN: sed 's/kv = 128, bits/kv = 96, bits/' %t/blocks.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=OF-48
// OF-48: tiles = <q = 128, kv = 48>
// Each of q and v has tiles of its own width.
// RUN: %python %dash_src/tools/scripts/part_program.py dk,dv 192,128 %dash_examples/bwd-causal.mlir > %t/kv-two.mlir
// RUN: dash-opt %t/kv-two.mlir --dash-choose-tiling | FileCheck %s --check-prefix=TWO
// TWO: columns = 192, columns_v = 128, structure = alternating, {{.*}} hold = [k, v], slots = {do = 4, k = 1, out = 1, p = 2, q = 3, v = 1}>
// RUN: dash-opt %t/kv-two.mlir --dash-choose-tiling --dash-tile | FileCheck %s --check-prefix=TILES
// TILES: dash.load %{{.+}}x192xbf16{{.*}} -> tensor<64x192xbf16>
// TILES: dash.load %{{.+}}x128xbf16{{.*}} -> tensor<64x128xbf16>
// The slope of a softcap needs the scores: both roles have P.
// RUN: sed 's/scale(.scale)/& softcap(30.0)/' %t/kv.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=CAPPED
// CAPPED: structure = alternating, {{.*}} hold = [], slots = {do = 2, k = 1, out = 2, q = 2, v = 1}>
// RUN: sed s/x256xbf16/x128xbf16/g %t/kv.mlir | dash-opt --dash-choose-tiling | FileCheck %s --check-prefix=KV128
// KV128: tiles = <q = 64, kv = 128>, columns = 128, structure = alternating

// RUN: dash-opt %t/kv.mlir --dash-to-ptx='kind=ascending' -o /dev/null --mlir-print-ir-after=dash-assign-roles 2>&1 | FileCheck %s --check-prefix=ROLES
// ROLES:     %[[P:.+]] = dash.channel "p" depth(1) : !channel_64x64xf32
// ROLES:     dash.channel "out" depth(1) : !channel_64x64xbf16
// ROLES:     dash.channel "out1" depth(1)
// ROLES:     dash.role "load-q" producer
// ROLES-NOT: dash.role "reduce"
// The role of dV makes P, and passes it; that of dK waits for K's slot for what it says of the item.
// ROLES:     dash.role "dk" consumer warps(4)
// ROLES:     dash.wait %k_tiles
// ROLES:     dash.wait %v_tiles
// ROLES:     %[[TILE:.+]] = dash.wait %[[P]]
// ROLES:     dash.score_gradient %[[TILE]],
// ROLES:     dash.role "dv" consumer warps(4)
// ROLES-NOT: dash.wait %v_tiles
// ROLES:     %[[MADE:.+]] = dash.exp2
// ROLES:     dash.put %[[MADE]] into %[[P]]
// RUN: dash-opt %t/q.mlir --dash-to-ptx='kind=longest-first' -o /dev/null --mlir-print-ir-after=dash-assign-roles 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS:      dash.channel "q" depth(1) : !channel_128x256xbf16_128xf32_index_index_index_index
// ROWS:      dash.channel "do" depth(1) : !channel_128x256xbf16_128xf32
// ROWS-NOT:  dash.channel "out"
// ROWS:      dash.role "compute" consumer warps(8)
// ROWS:      dash.log_probability %{{.+}}, %{{.+}} scale(%{{.+}}) q_rows : tensor<128x64xf32>, tensor<128xf32>
// ROWS:      dash.score_gradient %{{.+}}, %{{.+}}, %{{.+}} q_rows :
// RUN: dash-opt %t/q.mlir --dash-to-ptx='kind=longest-first' -o /dev/null --mlir-print-ir-after=dash-insert-waits 2>&1 | FileCheck %s --check-prefix=LAYOUT
// LAYOUT: dash.load_row %{{.+}} element(1) : {{.*}} -> !per_row_128_rows2
// dQ takes the place of dO, which is given back behind it. So dO comes last, and is waited for behind the first product; an item
// without a step waits for it, too.
// RUN: dash-opt %t/q.mlir --dash-to-ptx='kind=longest-first' -o /dev/null --mlir-print-ir-after=dash-place-releases 2>&1 | FileCheck %s --check-prefix=TAKEN
// TAKEN:      dash.wait %q_tiles
// TAKEN-NEXT: dash.wait %do_tiles
// TAKEN:      dash.release %q_tiles
// TAKEN-NEXT: dash.store %{{.+}} through %do_tiles : {{.+}} ahead(0)
// TAKEN-NEXT: dash.release %do_tiles
// RUN: dash-opt %t/q.mlir --dash-to-ptx='kind=longest-first' -o /dev/null --mlir-print-ir-after=dash-insert-waits 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS:      dash.role "compute
// SLOTS:        scf.for %[[ITEM:[^ ]+]] =
// SLOTS:          dash.mbarrier_wait %q_tiles full
// SLOTS-NOT:      %do_tiles
// SLOTS:          scf.if
// SLOTS:            dash.matmul
// SLOTS-NEXT:       %[[SLOT:.+]], %[[PHASE:.+]] = dash.ring %do_tiles[%[[ITEM]]]
// SLOTS-NEXT:       dash.mbarrier_wait %do_tiles full[%[[SLOT]]] phase(%[[PHASE]])
// SLOTS-NEXT:       dash.slot_tile %do_tiles
// SLOTS-NEXT:       dash.load_row %do_tiles
// SLOTS:            scf.for
// SLOTS:            }
// SLOTS:            dash.mbarrier_arrive %q_tiles empty
// SLOTS:          } else {
// SLOTS:            dash.mbarrier_wait %do_tiles full
// SLOTS:            scf.yield
// SLOTS-NEXT:     }
// SLOTS-NEXT:     dash.sync_warpgroup
// SLOTS-NEXT:     %[[LAST:.+]], %{{.+}} = dash.ring %do_tiles[%[[ITEM]]]
// SLOTS-NEXT:     %[[DQ:.+]] = dash.round
// SLOTS-NEXT:     dash.store_fragment %[[DQ]] to %do_tiles[%[[LAST]]] element(0) slice(0)
// SLOTS-NEXT:     nvvm.fence.proxy
// SLOTS-NEXT:     dash.sync_warpgroup
// SLOTS-NEXT:     dash.copy_out %do_tiles[%[[LAST]]] element(0) to {{.+}} slice(0)
// SLOTS-NEXT:     nvvm.cp.async.bulk.wait_group 0 {read}
// SLOTS-NEXT:     dash.sync_warpgroup
// SLOTS-NEXT:     dash.mbarrier_arrive %do_tiles empty[%[[LAST]]] by warp

// Nothing is added in memory: a plain launch, any number of workers, no sums, no conversion.
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
// ENTRIES-NOT: dq_sum
// REQUIRES: python, host-supports-nvptx
