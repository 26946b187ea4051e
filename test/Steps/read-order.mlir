// RUN: dash-opt %s --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources --dash-peel-walks --dash-read-order --canonicalize --cse | FileCheck %s
// RUN: sed 's/sum = 2/sum = 3/' %s | dash-opt --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources --dash-peel-walks --dash-read-order --canonicalize --cse | FileCheck %s --check-prefix=THREE

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {k = 1, q = 2, sum = 2, whole = 2}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Every role runs the list of its worker. A use of an item has the item's place in the list as its number; uses of steps are counted
// on from item to item, in all roles alike.
// CHECK-LABEL: func.func @persistent
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-NOT:     dash.items
// CHECK:         dash.role "load-q" producer warps(1) registers(24) {
// CHECK-NEXT:      %[[N:.+]] = dash.num_items
// CHECK-NEXT:      scf.for %[[I:.+]] = %[[C0]] to %[[N]] step %[[C1]] iter_args(%[[FIRST:.+]] = %[[C0]]) -> (index) {
// CHECK-NEXT:        %[[SEQ:.+]], %{{.+}}, %[[KV:.+]], %[[HEAD0:.+]], %[[VISIT0:.+]], %[[VISITS:.+]], %[[ROUNDS:.+]] = dash.read_item[%[[I]]]
// CHECK-NEXT:        %[[A:.+]] = scf.for %[[ROUND:.+]] = %[[C0]] to %[[ROUNDS]] step %[[C1]] iter_args(%[[B0:.+]] = %[[FIRST]]) -> (index) {
// CHECK-NEXT:          %[[B:.+]] = scf.for %[[VISIT:.+]] = %[[C0]] to %[[VISITS]] step %[[C1]] iter_args(%[[USE:.+]] = %[[B0]]) -> (index) {
// CHECK-NEXT:            %[[HEAD:.+]], %[[Q:.+]], %{{.+}}, %{{.+}} = dash.read_visit %[[VISIT0]][%[[VISIT]]] heads(%[[HEAD0]], %[[ROUND]])
// CHECK-NEXT:            %[[T:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]] :
// CHECK-NEXT:            %[[L:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]] :
// CHECK-NEXT:            %[[LEAD:.+]] = dash.band_lead at(%[[SEQ]], %[[KV]], %[[Q]])
// CHECK-NEXT:            dash.put %[[T]], %[[L]], %[[LEAD]] into %q_tiles[%[[USE]]] :
// CHECK-NEXT:            %[[USE1:.+]] = arith.addi %[[USE]], %[[C1]] : index
// CHECK-NEXT:            scf.yield %[[USE1]]
// CHECK-NEXT:          }
// CHECK-NEXT:          scf.yield %[[B]]
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.yield %[[A]]

//                Of two warps that add, warp w has the steps whose number over the worker's life is w modulo 2, whatever the items
//                before had: (w + 2 - first mod 2) mod 2 is its first one in this item.
// CHECK:         dash.role "reduce" reducer warps(2) registers(24) {
// CHECK-NEXT:      %[[N:.+]] = dash.num_items
// CHECK-NEXT:      scf.for %[[I:.+]] = %[[C0]] to %[[N]] step %[[C1]] iter_args(%[[FIRST:.+]] = %[[C0]]) -> (index) {
// CHECK-NEXT:        %[[SEQ:.+]], %{{.+}}, %{{.+}}, %[[HEAD0:.+]], %[[VISIT0:.+]], %[[VISITS:.+]], %[[ROUNDS:.+]] = dash.read_item[%[[I]]]
// CHECK-NEXT:        %[[WARP:.+]] = dash.warp_of_role
// CHECK-NEXT:        %[[UP:.+]] = arith.addi %[[WARP]], %[[C2]] : index
// CHECK-NEXT:        %[[MOD:.+]] = arith.remui %[[FIRST]], %[[C2]] : index
// CHECK-NEXT:        %[[LESS:.+]] = arith.subi %[[UP]], %[[MOD]] : index
// CHECK-NEXT:        %[[BEGIN:.+]] = arith.remui %[[LESS]], %[[C2]] : index
// CHECK-NEXT:        %[[STEPS:.+]] = arith.muli %[[VISITS]], %[[ROUNDS]] : index
// CHECK:             scf.for %[[STEP:.+]] = %[[BEGIN]] to %[[STEPS]] step %[[C2]] iter_args(%[[ROUND:.+]] = %{{.+}}, %[[VISIT:.+]] = %{{.+}}) -> (index, index) {
// CHECK-NEXT:          %[[USE:.+]] = arith.addi %[[FIRST]], %[[STEP]] : index
// CHECK-NEXT:          %[[HEAD:.+]], %[[Q:.+]], %[[TURN:.+]], %[[LAST:.+]] = dash.read_visit %[[VISIT0]][%[[VISIT]]] heads(%[[HEAD0]], %[[ROUND]])
// CHECK-NEXT:          %[[SUM:.+]] = dash.wait %sum_tiles[%[[USE]]] :
// CHECK-NEXT:          dash.ordered_reduce %[[SUM]] into %{{.+}}[%[[SEQ]], %[[HEAD]], %[[Q]]] turn(%[[TURN]]) last(%[[LAST]]) :
// CHECK-NEXT:          dash.release %sum_tiles[%[[USE]]] :
//                    Two visits on. A round may have a single visit, so that is two rounds on at most.
// CHECK-NEXT:          %[[ON:.+]] = arith.addi %[[VISIT]], %[[C2]] : index
// CHECK-NEXT:          %[[OVER:.+]] = arith.cmpi sle, %[[VISITS]], %[[ON]] : index
// CHECK-NEXT:          %[[ROUND1:.+]] = arith.addi %[[ROUND]], %[[C1]] : index
// CHECK-NEXT:          %[[ROUND2:.+]] = arith.select %[[OVER]], %[[ROUND1]], %[[ROUND]] : index
// CHECK-NEXT:          %[[BACK:.+]] = arith.subi %[[ON]], %[[VISITS]] : index
// CHECK-NEXT:          %[[VISIT2:.+]] = arith.select %[[OVER]], %[[BACK]], %[[ON]] : index
// CHECK-NEXT:          %[[OVER2:.+]] = arith.cmpi sle, %[[VISITS]], %[[VISIT2]] : index
// CHECK-NEXT:          %[[ROUND3:.+]] = arith.addi %[[ROUND2]], %[[C1]] : index
// CHECK-NEXT:          %[[ROUND4:.+]] = arith.select %[[OVER2]], %[[ROUND3]], %[[ROUND2]] : index
// CHECK-NEXT:          %[[BACK2:.+]] = arith.subi %[[VISIT2]], %[[VISITS]] : index
// CHECK-NEXT:          %[[VISIT4:.+]] = arith.select %[[OVER2]], %[[BACK2]], %[[VISIT2]] : index
// CHECK-NEXT:          scf.yield %[[ROUND4]], %[[VISIT4]] :
// CHECK-NEXT:        }
// CHECK-NEXT:        %[[NEXT:.+]] = arith.addi %[[FIRST]], %[[STEPS]] : index
// CHECK-NEXT:        scf.yield %[[NEXT]]

//                Who loads tiles of an item says how many steps it has.
// CHECK:         dash.role "load-kv" producer warps(1) registers(24) {
// CHECK-NEXT:      %[[N:.+]] = dash.num_items
// CHECK-NEXT:      scf.for %[[I:.+]] = %[[C0]] to %[[N]] step %[[C1]] {
// CHECK-NEXT:        %[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]], %{{.+}}, %{{.+}}, %[[VISITS:.+]], %[[ROUNDS:.+]] = dash.read_item[%[[I]]]
// CHECK-NEXT:        %[[T:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]] :
// CHECK-NEXT:        %[[STEPS:.+]] = arith.muli %[[VISITS]], %[[ROUNDS]] : index
// CHECK-NEXT:        dash.put %[[T]], %[[STEPS]], %[[SEQ]], %[[KV_HEAD]], %[[KV]] into %k_tiles[%[[I]]] :

//                A consumer reads of the order how many items there are, and nothing else.
// CHECK:         dash.role "compute" consumer warps(8) registers(240) {
// CHECK-NOT:       dash.read
// CHECK:           %[[N:.+]] = dash.num_items
// CHECK-NEXT:      scf.for %[[I:.+]] = %[[C0]] to %[[N]] step %[[C1]] iter_args(%[[FIRST:.+]] = %[[C0]]) -> (index) {
// CHECK-NEXT:        %{{.+}}, %[[STEPS:[^ ,]+]], %[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]] = dash.wait %k_tiles[%[[I]]] :
// CHECK:             %[[R:.+]] = scf.if
// CHECK-NEXT:          dash.wait %q_tiles[%[[FIRST]]] :
// CHECK:               %[[SECOND:.+]] = arith.addi %[[FIRST]], %[[C1]] : index
// CHECK-NEXT:          dash.wait %q_tiles[%[[SECOND]]] :
// CHECK:               scf.for %[[STEP:.+]] = %[[C2]] to %[[STEPS]] step
// CHECK-NEXT:            dash.take_tensor_core
// CHECK-NEXT:            %[[BEFORE:.+]] = arith.subi %[[STEP]], %[[C2]] : index
// CHECK-NEXT:            %[[LATE:.+]] = arith.addi %[[FIRST]], %[[BEFORE]] : index
// CHECK-NEXT:            dash.wait %whole_tiles[%[[LATE]]] :
// CHECK:                 dash.held %q_tiles[%[[NOW:.+]]] :
// CHECK:                 dash.commit %whole_tiles[%[[NOW]]] :
// CHECK:                 dash.put %{{.+}} into %sum_tiles[%[[LATE]]] :
// CHECK:                 dash.release %q_tiles[%[[NOW]]] :
// CHECK-NEXT:            %[[USE:.+]] = arith.addi %[[FIRST]], %[[STEP]] : index
// CHECK-NEXT:            dash.wait %q_tiles[%[[USE]]] :
// CHECK:             dash.release %k_tiles[%[[I]]] :
//                    The result leaves through the slots that the next item's first steps take.
// CHECK-NEXT:        %[[NEXT:.+]] = arith.addi %[[FIRST]], %[[STEPS]] : index
// CHECK-NEXT:        dash.store %[[R]], %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]] through %whole_tiles : {{.+}} ahead(0) use(%[[NEXT]]) :
// CHECK-NEXT:        scf.yield %[[NEXT]]

// A warp for each of three buffers: every third step is its own.
// THREE:         %[[C3:.+]] = arith.constant 3 : index
// THREE:         dash.role "reduce" reducer warps(3)
// THREE:           arith.remui %{{.+}}, %[[C3]] : index
// THREE:           scf.for %{{.+}} to %{{.+}} step %[[C3]] iter_args
// THREE:             dash.ordered_reduce
// THREE-COUNT-3:     arith.cmpi sle
// THREE-NOT:         arith.cmpi sle
// THREE:           }
func.func @persistent(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
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
