// RUN: dash-opt %s --dash-assign-roles --dash-order-products | FileCheck %s

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {k = 1, q = 1, sum = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Loaded tiles are multiplied, and what comes of them computed, a step ahead; the product that needs all rows of P is a step late. Ops stand
// in the order in which a turn issues them, so dV reads what is made below it, for a step before.
// CHECK-LABEL: func.func @ahead_and_late
// CHECK:         dash.role "load-q"
// CHECK-NOT:     stage
// CHECK:         dash.role "compute"
// CHECK:           dash.walk {{.+}} steps(%{{.+}}) stages(3) {
// CHECK-NEXT:        dash.take_tensor_core stage(1)
// CHECK-NEXT:        %[[WHOLE:.+]] = dash.wait %whole_tiles stage(2)
// CHECK-NEXT:        %[[SUM:.+]] = dash.matmul transpose %[[WHOLE]], %{{.+}} stage(2)
// CHECK-NEXT:        %[[R1:.+]] = dash.matmul %[[PH:[^ ,]+]], %[[Q:[^ ,]+]] accumulate(%{{.+}}) stage(1)
// CHECK-NEXT:        dash.put %[[SUM]] into %sum_tiles stage(2)
// CHECK-NEXT:        %[[Q]], %[[L:.+]], %[[LEAD:.+]] = dash.wait %q_tiles stage(0)
// CHECK-NEXT:        %[[S:.+]] = dash.matmul %{{.+}}, transpose %[[Q]] stage(0)
// CHECK-NEXT:        dash.give_tensor_core stage(1)
// CHECK-NEXT:        %[[LOG:.+]] = dash.log_probability %[[S]], %[[L]] stage(0)
// CHECK-NEXT:        %[[SHOWN:.+]] = dash.hide %[[LOG]] band(%[[LEAD]], %{{.+}}) stage(0)
// CHECK-NEXT:        %[[P:.+]] = dash.exp2 %[[SHOWN]] stage(0)
// CHECK-NEXT:        %[[PH]] = dash.round %[[P]] stage(0)
// CHECK-NEXT:        dash.put %[[PH]] into %whole_tiles stage(0)
// CHECK-NEXT:        dash.yield %[[R1]]
func.func @ahead_and_late(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %st, %l at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %c = dash.matmul transpose %ph, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.ordered_reduce %c into %sum[%seq, %head, %qi] turn(%turn)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.yield %r1 : tensor<128x128xf32>
    }
    dash.store %r, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}
