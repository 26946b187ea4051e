// RUN: dash-opt %s --dash-lower-to-loops --canonicalize | FileCheck %s --implicit-check-not=dash.items --implicit-check-not=dash.schedule
// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-tile='q=16 kv=32' --dash-apply-schedule='parts=2 sizes=q:20,kv:40,heads:2,kv-heads:1' --dash-lower-to-loops=contributions=true | FileCheck %s --check-prefix=ARGUMENTS

// A caller may want to see what the chains sum: two q tiles by two kv tiles and two heads, two kv tiles by two parts.
// ARGUMENTS: func.func @attention_bwd({{.+}}: f32 {dash.tensor = #scale}, %[[DQ:.+]]: memref<8x16x128xf32> {dash.shape = array<i64: 8, 16, 128>, dash.tensor = {{.+}}"contributions-dq"{{[^}]+}}}, %[[DK:.+]]: memref<4x32x128xf32> {{{[^}]+}}"contributions-dk"{{[^}]+}}}, %[[DV:.+]]: memref<4x32x128xf32> {{{[^}]+}}"contributions-dv"{{[^}]+}}})

// One thread follows the order: items in issue order, tasks in visit order, each contribution into its slot; then each chain is
// summed in the order of its turns. The tables are constants: of an item (sequence, kv head, kv tile, part turn, part slot,
// first and last visit), of a visit (head, q tile, turn, slot), of a chain (sequence, head, q tile, first and last slot).

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 64>
#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
// CHECK-DAG: memref.global "private" constant @dash_sequences : memref<1x4xi32> = dense<{{\[\[}}20, 40, 0, 0]]>
// CHECK-DAG: memref.global "private" constant @dash_items : memref<2x7xi32> = dense<{{\[\[}}0, 0, 0, 0, 0, 0, 2], [0, 0, 1, 0, 1, 2, 4]]>
// CHECK-DAG: memref.global "private" constant @dash_visits : memref<4x4xi32> = dense<{{\[\[}}0, 0, 1, 1], [0, 1, 1, 3], [0, 0, 0, 0], [0, 1, 0, 2]]>
// CHECK-DAG: memref.global "private" constant @dash_chains : memref<2x5xi32> = dense<{{\[\[}}0, 0, 0, 0, 2], [0, 0, 1, 2, 4]]>
dash.schedule @order kind("backwards") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 16, kv = 32>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
           head_dim_v = 64, sequences = <[20, 40]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = last - kv>)

// CHECK-LABEL: func.func @sum_of_keys(
// CHECK-SAME:      %[[Q:.+]]: memref<1x1x20x64xbf16> {dash.shape = array<i64: 1, 1, 20, 64>, dash.tensor = {{[^}]+}}}, %[[K:[^:]+]]: memref<1x1x?x64xbf16> {{{[^}]+}}}, %[[V:[^:]+]]: memref<1x1x?x64xbf16> {{{[^}]+}}}, %[[DQ:.+]]: memref<1x1x20x64xf32> {{{[^}]+}}})
// CHECK-SAME:      attributes {dash.problem = #dash.problem<{{.+}}>}
// CHECK:         %[[ROWS:.+]] = memref.dim %[[K]], %{{.+}} :
// CHECK-NEXT:    %[[FITS:.+]] = arith.cmpi eq, %[[ROWS]], %c40 : index
// CHECK-NEXT:    cf.assert %[[FITS]], "rows of 'k' must be 40, the size that this program was made for"
// CHECK:         %[[WORKSPACE:.+]] = memref.alloc() {{.*}}: memref<4x16x64xf32>
// CHECK:         scf.for %{{.+}} = %c0 to %c2 step %c1 {
// CHECK:           scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c1 {
//                    A product keeps sums in lanes, and adds in the order of the inner index.
// CHECK:             %[[SUM:.+]] = scf.for %{{.+}} = %c0 to %c32 step %c1 iter_args(%[[LAST:.+]] = %{{.+}}) -> (vector<64xf32>) {
// CHECK:               %[[TERM:.+]] = arith.mulf %{{.+}}, %{{.+}} : vector<64xf32>
// CHECK-NEXT:          %[[NEXT:.+]] = arith.addf %[[LAST]], %[[TERM]] : vector<64xf32>
// CHECK-NEXT:          scf.yield %[[NEXT]]
// CHECK:             memref.store %{{.+}}, %[[WORKSPACE]][
//                A chain: the first is loaded, the others are added, subnormal numbers flushed.
// CHECK:         memref.get_global @dash_chains
// CHECK:         scf.for %{{.+}} = %c0 to %c2 step %c1 {
// CHECK:           %[[FIRST:.+]] = vector.load %[[WORKSPACE]][%[[SLOT:[^,]+]], {{.+}}
// CHECK:           %[[CHAIN:.+]] = scf.for %{{.+}} iter_args(%{{.+}} = %[[FIRST]]) -> (vector<16xf32>) {
// CHECK:             %[[ADDED:.+]] = arith.addf %{{.+}}, %{{.+}} : vector<16xf32>
// CHECK:             %[[BITS:.+]] = arith.bitcast %[[ADDED]] : vector<16xf32> to vector<16xi32>
// CHECK:             arith.andi %[[BITS]], %cst{{.*}}
// CHECK:           vector.store %[[CHAIN]], %[[DQ]][
func.func @sum_of_keys(%q: memref<1x1x20x64xbf16> {dash.tensor = #q}, %k: memref<1x1x?x64xbf16> {dash.tensor = #k}, %v: memref<1x1x?x64xbf16> {dash.tensor = #v},
                       %dq: memref<1x1x20x64xf32> {dash.tensor = #dq_sum}) {
  %ones = arith.constant dense<1.0> : tensor<32x16xbf16>
  dash.items order(@order) over(%q, %k, %v : memref<1x1x20x64xbf16>, memref<1x1x?x64xbf16>, memref<1x1x?x64xbf16>)
      tiles(<q = 16, kv = 32>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : memref<1x1x?x64xbf16> -> tensor<32x64xbf16>
    dash.walk (%head, %qi, %turn) {
      %sum = dash.matmul transpose %ones, %kt : (tensor<32x16xbf16>, tensor<32x64xbf16>) -> tensor<16x64xf32>
      dash.ordered_reduce %sum into %dq[%seq, %head, %qi] turn(%turn) : tensor<16x64xf32> into memref<1x1x20x64xf32>
    }
  }
  return
}
