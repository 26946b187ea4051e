// RUN: dash-opt %s --dash-lower-to-loops --canonicalize | FileCheck %s --implicit-check-not=dash.items --implicit-check-not=dash.schedule --implicit-check-not=dash_chains --implicit-check-not=dash_part_chains
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile='q=16 kv=32 split=dq' --dash-apply-schedule='sizes=q:20,kv:40,heads:2,kv-heads:1' --dash-lower-to-loops=contributions=true | FileCheck %s --check-prefix=ARGUMENTS

// Nothing is summed across items, so there is nothing to show a caller.
// ARGUMENTS: func.func @attention_bwd({{.+}}: f32 {dash.tensor = #scale})
// ARGUMENTS-SAME: dash.problem = [#dash.problem<{{.+}}>, #dash.problem<{{.+}}, own = q>]

// Items that own q tiles: an item is (sequence, head, q tile), a visit (kv head, kv tile). There are no turns, slots and chains: the sum
// goes through the item's visits and is stored behind them. Both heads of the group walk kv head 0.

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// CHECK-DAG: memref.global "private" constant @dash_items : memref<4x7xi32> = dense<{{\[\[}}0, 0, 1, 0, 0, 0, 2], [0, 1, 1, 0, 0, 2, 4], [0, 0, 0, 0, 0, 4, 6], [0, 1, 0, 0, 0, 6, 8]]>
// CHECK-DAG: memref.global "private" constant @dash_visits : memref<8x4xi32> = dense<{{\[\[}}0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]>
dash.schedule @order kind("longest-first") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 32>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[20, 40]>, own = q>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i mod groups, q_tiles - 1 - i floordiv groups, i), worker(unit) = unit mod workers,
                       visit(q, step) = first + step>)

// CHECK-LABEL: func.func @sum_of_keys(
// CHECK-SAME:      %[[Q:[^:]+]]: memref<1x2x20x64xbf16> {{{[^}]+}}}, %[[K:[^:]+]]: memref<1x1x40x64xbf16> {{{[^}]+}}}, %{{.+}}, %[[DQ:.+]]: memref<1x2x20x64xbf16> {{{[^}]+}}})
// CHECK:         scf.for %{{.+}} = %c0 to %c4 step %c1 {
// CHECK:           scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c1 {
// CHECK:             memref.load %[[K]]
// CHECK:             scf.for %{{.+}} = %c0 to %c32 step %c1 iter_args(
// CHECK:           arith.truncf
// CHECK-NEXT:      memref.store %{{.+}}, %[[DQ]]
func.func @sum_of_keys(%q: memref<1x2x20x64xbf16> {dash.tensor = #q}, %k: memref<1x1x40x64xbf16> {dash.tensor = #k}, %v: memref<1x1x40x64xbf16> {dash.tensor = #v},
                       %dq: memref<1x2x20x64xbf16> {dash.tensor = #dq}) {
  %ones = arith.constant dense<1.0> : tensor<32x16xbf16>
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  dash.items order(@order) own(q) walk(kv) over(%q, %k, %v : memref<1x2x20x64xbf16>, memref<1x1x40x64xbf16>, memref<1x1x40x64xbf16>)
      tiles(<q = 16, kv = 32>) mask(<full>) level(run) (%seq, %head, %qi) {
    %sum = dash.walk (%kv_head, %kv) init(%sum0 = %zero) : tensor<16x64xf32> {
      %kt = dash.load %k[%seq, %kv_head, %kv] : memref<1x1x40x64xbf16> -> tensor<32x64xbf16>
      %next = dash.matmul transpose %ones, %kt accumulate(%sum0) : (tensor<32x16xbf16>, tensor<32x64xbf16>) -> tensor<16x64xf32>
      dash.yield %next : tensor<16x64xf32>
    }
    dash.store %sum, %dq[%seq, %head, %qi] : tensor<16x64xf32> -> memref<1x2x20x64xbf16>
  }
  return
}
