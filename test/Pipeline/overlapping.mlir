// RUN: dash-opt %s --dash-assign-roles | FileCheck %s --check-prefix=ROLES
// RUN: dash-opt %s --dash-assign-roles --dash-order-products | FileCheck %s --check-prefix=ORDER
// RUN: dash-opt %s --dash-assign-roles --dash-order-products --dash-place-releases | FileCheck %s --check-prefix=RELEASES
// RUN: dash-opt %s --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources | FileCheck %s --check-prefix=PLAN
// RUN: dash-opt %s --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers | dash-opt --verify-roundtrip --dash-check-resources | FileCheck %s --check-prefix=PLAN
// RUN: sed 's/structure = overlapping/structure = alternating/; s/slots = {.*}/slots = {do = 2, dq = 2, ds = 2, k = 2, q = 2, v = 2}/' %s | dash-opt --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources | FileCheck %s --check-prefix=ASKED

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#delta = #dash.tensor_role<"delta", side = q, access = read, kind = row, element = f32>
#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 64>
#dv = #dash.tensor_role<"dv", side = kv, access = write, kind = tile, element = bf16, columns = 64>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 64, structure = overlapping, splits = {s = 2 x 1}, hold = [],
                       slots = {dq = 2, ds = 4, k = 2, q_do = 4, v = 2}>
dash.schedule @order64 kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T64 = memref<?x?x?x64xbf16>
!R = memref<?x?x?xf32>

// The tiling says that what two steps have in flight is in registers side by side: S and dP are issued one behind the other, so what they and the
// work behind them need has one slot.
// ROLES-LABEL: func.func @products_overlap_element_wise_work
// ROLES:         dash.workers structure(overlapping) {
// ROLES:           %q_do_tiles = dash.channel "q_do" depth(4) : !channel_64x64xbf16_64xf32_64x64xbf16_64xf32_index
// ROLES-NEXT:      %ds_tiles = dash.channel "ds"
// ROLES-NEXT:      %dq_tiles = dash.channel "dq"
// ROLES-NEXT:      dash.role "load-q" producer warps(1) {
// ROLES:               dash.put %[[Q:.+]], %[[L:.+]], %[[DO:.+]], %[[D:.+]], %[[LEAD:.+]] into %q_do_tiles
// ROLES:           dash.role "compute" consumer warps(8) {
// ROLES:               %[[Q:.+]], %[[L:.+]], %[[DO:.+]], %[[D:.+]], %[[LEAD:.+]] = dash.wait %q_do_tiles
// ROLES-NEXT:          %[[S:.+]] = dash.matmul %{{.+}}, transpose %[[Q]] split({{.+}}) :
// ROLES-NEXT:          %[[LOG:.+]] = dash.log_probability %[[S]], %[[L]]
// ROLES-NEXT:          %[[SHOWN:.+]] = dash.hide %[[LOG]] band(%[[LEAD]], %{{.+}})
// ROLES-NEXT:          %[[P:.+]] = dash.exp2 %[[SHOWN]]
// ROLES-NEXT:          %{{.+}} = dash.round %[[P]]
// ROLES-NEXT:          %[[DP:.+]] = dash.matmul %{{.+}}, transpose %[[DO]] split({{.+}}) :
// ROLES-NEXT:          %{{.+}} = dash.score_gradient %[[P]], %[[DP]], %[[D]]

// Where the structure is overlapping, a turn is the products of the next step and those that are carried on, and what it waits for is got
// in front of them. P is computed under dK and dV, dQ runs under dS, which is put in front of the wait for dK and dV; P is rounded into the
// registers of its factor behind it.
// ORDER-LABEL: func.func @products_overlap_element_wise_work
// ORDER:         dash.role "compute"
// ORDER:           dash.walk {{.+}} stages(3) {
// ORDER-NEXT:        dash.take_tensor_core stage(1)
// ORDER-NEXT:        %[[Q:.+]], %[[L:.+]], %[[DO:.+]], %[[D:.+]], %[[LEAD:.+]] = dash.wait %q_do_tiles stage(0)
// ORDER-NEXT:        %[[S:.+]] = dash.matmul %{{.+}}, transpose %[[Q]] stage(0)
// ORDER-NEXT:        %[[DP:.+]] = dash.matmul %{{.+}}, transpose %[[DO]] stage(0)
// ORDER-NEXT:        %[[DK:.+]] = dash.matmul %[[DSH:[^ ,]+]], %[[Q]] accumulate(%{{.+}}) stage(1)
// ORDER-NEXT:        %[[DV:.+]] = dash.matmul %[[PH:[^ ,]+]], %[[DO]] accumulate(%{{.+}}) stage(1)
// ORDER-NEXT:        dash.give_tensor_core stage(1)
// ORDER-NEXT:        %[[LOG:.+]] = dash.log_probability %[[S]], %[[L]] stage(0)
// ORDER-NEXT:        %[[SHOWN:.+]] = dash.hide %[[LOG]] band(%[[LEAD]], %{{.+}}) stage(0)
// ORDER-NEXT:        %[[P:.+]] = dash.exp2 %[[SHOWN]] stage(0)
// ORDER-NEXT:        %[[WHOLE:.+]] = dash.wait %ds_tiles stage(2)
// ORDER-NEXT:        %[[DQ:.+]] = dash.matmul transpose %[[WHOLE]], %{{.+}} stage(2)
// ORDER-NEXT:        %[[DS:.+]] = dash.score_gradient %[[P]], %[[DP]], %[[D]] stage(0) : {{.+}} -> tensor<128x64xf32>
// ORDER-NEXT:        %[[DSH]] = dash.round %[[DS]] stage(0)
// ORDER-NEXT:        dash.put %[[DSH]] into %ds_tiles stage(0)
// ORDER-NEXT:        %[[PH]] = dash.round %[[P]] stage(0)
// ORDER-NEXT:        dash.put %[[DQ]] into %dq_tiles stage(2)
// ORDER-NEXT:        dash.yield %[[DK]], %[[DV]]

// Where products overlap, the slot of Q and dO is released in front of what rounds the next factors of dV, its last reader, and both commits
// stand at the end.
// RELEASES-LABEL: func.func @products_overlap_element_wise_work
// RELEASES:         dash.role "compute"
// RELEASES:             dash.give_tensor_core stage(1)
// RELEASES:             dash.score_gradient {{.+}} stage(0)
// RELEASES-NEXT:        {{.+}} = dash.round {{.+}} stage(0)
// RELEASES-NEXT:        dash.put {{.+}} into %ds_tiles stage(0)
// RELEASES-NEXT:        dash.release %q_do_tiles stage(1)
// RELEASES-NEXT:        {{.+}} = dash.round {{.+}} stage(0)
// RELEASES-NEXT:        dash.release %ds_tiles stage(2)
// RELEASES-NEXT:        dash.put {{.+}} into %dq_tiles stage(2)
// RELEASES-NEXT:        dash.commit %ds_tiles stage(0)
// RELEASES-NEXT:        dash.commit %dq_tiles stage(2)
// RELEASES-NEXT:        dash.yield
// RELEASES-NEXT:      }

// Loaded and exchanged tiles stay while two steps more are begun, so they have 4 slots.
// PLAN-LABEL: func.func @products_overlap_element_wise_work
// PLAN:         dash.workers structure(overlapping) registers(168) shared_bytes(232448) {
// PLAN:           dash.channel "q_do" depth(4)
// PLAN-NEXT:      dash.channel "ds" depth(4)
// PLAN-NEXT:      dash.channel "dq" depth(2)

// The tiling can say the other structure; it is the one that is not printed.
// ASKED-LABEL: func.func @products_overlap_element_wise_work
// ASKED:         dash.workers registers(168) shared_bytes(165888) {
// ASKED:           dash.channel "q" depth(2)
// ASKED-NEXT:      dash.channel "do" depth(2)
func.func @products_overlap_element_wise_work(%q: !T64 {dash.tensor = #q}, %k: !T64 {dash.tensor = #k}, %v: !T64 {dash.tensor = #v}, %do: !T64 {dash.tensor = #do}, %lse: !R {dash.tensor = #lse}, %delta: !R {dash.tensor = #delta}, %sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dk: !T64 {dash.tensor = #dk}, %dv: !T64 {dash.tensor = #dv}) {
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  dash.items order(@order64) over(%q, %k, %v : !T64, !T64, !T64)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T64 -> tensor<128x64xbf16>
    %vt = dash.load %v[%seq, %kv_head, %kv] : !T64 -> tensor<128x64xbf16>
    %sums:2 = dash.walk (%head, %qi, %turn) init(%dk0 = %zero, %dv0 = %zero) : tensor<128x64xf32>, tensor<128x64xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T64 -> tensor<64x64xbf16>
      %dot = dash.load %do[%seq, %head, %qi] : !T64 -> tensor<64x64xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : !R -> tensor<64xf32>
      %d = dash.load %delta[%seq, %head, %qi] : !R -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %st, %l at(%seq, %kv, %qi) : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %dp = dash.matmul %vt, transpose %dot split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xf32>
      %ds = dash.score_gradient %p, %dp, %d
        : (tensor<128x64xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xbf16>
      %dv1 = dash.matmul %ph, %dot accumulate(%dv0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xf32>
      %dk1 = dash.matmul %ds, %qt accumulate(%dk0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xf32>
      %c = dash.matmul transpose %ds, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
      dash.ordered_reduce %c into %sum[%seq, %head, %qi] turn(%turn) : tensor<64x64xf32> into memref<?x?x?x64xf32>
      dash.yield %dk1, %dv1 : tensor<128x64xf32>, tensor<128x64xf32>
    }
    dash.store %sums#0, %dk[%seq, %kv_head, %kv] : tensor<128x64xf32> -> !T64
    dash.store %sums#1, %dv[%seq, %kv_head, %kv] : tensor<128x64xf32> -> !T64
  }
  return
}
