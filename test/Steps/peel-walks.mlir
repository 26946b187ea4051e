// RUN: dash-opt %s --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources --dash-peel-walks --canonicalize --cse | FileCheck %s

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

// A walk of three stages: S is a step ahead, what needs all rows of P a step late. Where the pipeline runs full, a turn of the loop
// works on three steps; what crosses from turn to turn are the sum and P, and Q stays in its slot.
// CHECK-LABEL: func.func @pipelined
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
//                Who reads the order walks as before.
// CHECK:         dash.role "load-q"
// CHECK:           dash.walk (%{{.+}}, %{{.+}}, %{{.+}}) {
// CHECK:         dash.role "reduce"
// CHECK:           dash.walk (%{{.+}}, %{{.+}}, %{{.+}}) {
// CHECK:         dash.role "compute"
// CHECK-NOT:     dash.walk
// CHECK-NOT:     stage
// CHECK:         %[[K:.+]], %[[N:[^ ,]+]], %{{.+}}, %{{.+}}, %[[KV:.+]] = dash.wait %k_tiles :
// CHECK-NEXT:    %[[TWO:.+]] = arith.cmpi sge, %[[N]], %[[C2]]
// CHECK-NEXT:    %[[R:.+]] = scf.if %[[TWO]] -> (tensor<128x128xf32>) {

//                The prologue: a turn with an op of the first stage alone, and one with those of two.
// CHECK-NEXT:      %[[Q0:.+]], %[[L0:.+]], %[[LEAD0:.+]] = dash.wait %q_tiles[%[[C0]]] :
// CHECK-NEXT:      %[[S0:.+]] = dash.matmul %[[K]], transpose %[[Q0]] split({{.+}}) :
// CHECK-NEXT:      %[[LOG0:.+]] = dash.log_probability %[[S0]], %[[L0]] :
// CHECK-NEXT:      %[[SHOWN0:.+]] = dash.hide %[[LOG0]] band(%[[LEAD0]], %[[KV]]) :
// CHECK-NEXT:      %[[P0:.+]] = dash.exp2 %[[SHOWN0]] :
// CHECK-NEXT:      %[[H0:.+]] = dash.round %[[P0]] :
// CHECK-NEXT:      dash.put %[[H0]] into %whole_tiles[%[[C0]]] :
// CHECK-NEXT:      dash.take_tensor_core
// CHECK-NEXT:      %[[R0:.+]] = dash.matmul %[[H0]], %[[Q0]] accumulate(%[[ZERO]]) split({{.+}}) :
// CHECK-NEXT:      dash.commit %whole_tiles[%[[C0]]] :
// CHECK-NEXT:      dash.release %q_tiles[%[[C0]]] :
// CHECK-NEXT:      %[[Q1:.+]], %[[L1:.+]], %[[LEAD1:.+]] = dash.wait %q_tiles[%[[C1]]] :
// CHECK-NEXT:      %[[S1:.+]] = dash.matmul %[[K]], transpose %[[Q1]] split({{.+}}) :
// CHECK-NEXT:      dash.give_tensor_core
// CHECK-NEXT:      %[[LOG1:.+]] = dash.log_probability %[[S1]], %[[L1]] :
// CHECK-NEXT:      %[[SHOWN1:.+]] = dash.hide %[[LOG1]] band(%[[LEAD1]], %[[KV]]) :
// CHECK-NEXT:      %[[P1:.+]] = dash.exp2 %[[SHOWN1]] :
// CHECK-NEXT:      %[[H1:.+]] = dash.round %[[P1]] :
// CHECK-NEXT:      dash.put %[[H1]] into %whole_tiles[%[[C1]]] :

//                The steady state: steps t - 2, t - 1 and t.
// CHECK-NEXT:      %[[LOOP:.+]]:2 = scf.for %[[T:.+]] = %[[C2]] to %[[N]] step %[[C1]] iter_args(%[[SUM:.+]] = %[[R0]], %[[H:.+]] = %[[H1]]) -> (tensor<128x128xf32>, tensor<128x64xbf16>) {
// CHECK-NEXT:        dash.take_tensor_core
// CHECK-NEXT:        %[[LATE:.+]] = arith.subi %[[T]], %[[C2]] : index
// CHECK-NEXT:        %[[W:.+]] = dash.wait %whole_tiles[%[[LATE]]] :
// CHECK-NEXT:        %[[C:.+]] = dash.matmul transpose %[[W]], %[[K]] split({{.+}}) :
// CHECK-NEXT:        %[[NOW:.+]] = arith.subi %[[T]], %[[C1]] : index
// CHECK-NEXT:        %[[HELD:.+]]:2 = dash.held %q_tiles[%[[NOW]]] :
// CHECK-NEXT:        %[[SUM1:.+]] = dash.matmul %[[H]], %[[HELD]]#0 accumulate(%[[SUM]]) split({{.+}}) :
// CHECK-NEXT:        dash.commit %whole_tiles[%[[NOW]]] :
// CHECK-NEXT:        dash.release %whole_tiles[%[[LATE]]] :
// CHECK-NEXT:        dash.put %[[C]] into %sum_tiles[%[[LATE]]] :
// CHECK-NEXT:        dash.release %q_tiles[%[[NOW]]] :
// CHECK-NEXT:        %[[Q:.+]], %[[L:.+]], %[[LEAD:.+]] = dash.wait %q_tiles[%[[T]]] :
// CHECK-NEXT:        %[[S:.+]] = dash.matmul %[[K]], transpose %[[Q]] split({{.+}}) :
// CHECK-NEXT:        dash.give_tensor_core
// CHECK-NEXT:        dash.commit %sum_tiles[%[[LATE]]] :
// CHECK-NEXT:        %[[LOG:.+]] = dash.log_probability %[[S]], %[[L]] :
// CHECK-NEXT:        %[[SHOWN:.+]] = dash.hide %[[LOG]] band(%[[LEAD]], %[[KV]]) :
// CHECK-NEXT:        %[[P:.+]] = dash.exp2 %[[SHOWN]] :
// CHECK-NEXT:        %[[NEXT:.+]] = dash.round %[[P]] :
// CHECK-NEXT:        dash.put %[[NEXT]] into %whole_tiles[%[[T]]] :
// CHECK-NEXT:        scf.yield %[[SUM1]], %[[NEXT]] :
// CHECK-NEXT:      }

//                The epilogue: a turn with the last step's ops of two stages, and one with those of the last.
// CHECK-NEXT:      dash.take_tensor_core
// CHECK-NEXT:      %[[BEFORE:.+]] = arith.subi %[[N]], %[[C2]] : index
// CHECK-NEXT:      %[[W0:.+]] = dash.wait %whole_tiles[%[[BEFORE]]] :
// CHECK-NEXT:      %[[E0:.+]] = dash.matmul transpose %[[W0]], %[[K]] split({{.+}}) :
// CHECK-NEXT:      %[[LAST:.+]] = arith.subi %[[N]], %[[C1]] : index
// CHECK-NEXT:      %[[HELD1:.+]]:2 = dash.held %q_tiles[%[[LAST]]] :
// CHECK-NEXT:      %[[TOTAL:.+]] = dash.matmul %[[LOOP]]#1, %[[HELD1]]#0 accumulate(%[[LOOP]]#0) split({{.+}}) :
// CHECK-NEXT:      dash.commit %whole_tiles[%[[LAST]]] :
// CHECK-NEXT:      dash.release %whole_tiles[%[[BEFORE]]] :
// CHECK-NEXT:      dash.put %[[E0]] into %sum_tiles[%[[BEFORE]]] :
// CHECK-NEXT:      dash.release %q_tiles[%[[LAST]]] :
// CHECK-NEXT:      dash.give_tensor_core
// CHECK-NEXT:      dash.commit %sum_tiles[%[[BEFORE]]] :
// CHECK-NEXT:      %[[W1:.+]] = dash.wait %whole_tiles[%[[LAST]]] :
// CHECK-NEXT:      %[[E1:.+]] = dash.matmul transpose %[[W1]], %[[K]] split({{.+}}) :
// CHECK-NEXT:      dash.release %whole_tiles[%[[LAST]]] :
// CHECK-NEXT:      dash.put %[[E1]] into %sum_tiles[%[[LAST]]] :
// CHECK-NEXT:      dash.commit %sum_tiles[%[[LAST]]] :
// CHECK-NEXT:      scf.yield %[[TOTAL]] :
// CHECK-NEXT:    } else {

//                One step never meets another: its turns have an op of each stage, and hold nothing over.
// CHECK-NEXT:      %[[ONE:.+]] = arith.cmpi eq, %[[N]], %[[C1]]
// CHECK-NEXT:      %[[R1:.+]] = scf.if %[[ONE]] -> (tensor<128x128xf32>) {
// CHECK-NEXT:        %[[Q2:.+]], %[[L2:.+]], %[[LEAD2:.+]] = dash.wait %q_tiles[%[[C0]]] :
// CHECK-NEXT:        dash.matmul %[[K]], transpose %[[Q2]] split({{.+}}) :
// CHECK-NEXT:        dash.log_probability
// CHECK-NEXT:        dash.hide
// CHECK-NEXT:        dash.exp2
// CHECK-NEXT:        %[[H2:.+]] = dash.round
// CHECK-NEXT:        dash.put %[[H2]] into %whole_tiles[%[[C0]]] :
// CHECK-NEXT:        dash.take_tensor_core
// CHECK-NEXT:        %[[R2:.+]] = dash.matmul %[[H2]], %[[Q2]] accumulate(%[[ZERO]]) split({{.+}}) :
// CHECK-NEXT:        dash.commit %whole_tiles[%[[C0]]] :
// CHECK-NEXT:        dash.release %q_tiles[%[[C0]]] :
// CHECK-NEXT:        dash.give_tensor_core
// CHECK-NEXT:        %[[W2:.+]] = dash.wait %whole_tiles[%[[C0]]] :
// CHECK-NEXT:        %[[E2:.+]] = dash.matmul transpose %[[W2]], %[[K]] split({{.+}}) :
// CHECK-NEXT:        dash.release %whole_tiles[%[[C0]]] :
// CHECK-NEXT:        dash.put %[[E2]] into %sum_tiles[%[[C0]]] :
// CHECK-NEXT:        dash.commit %sum_tiles[%[[C0]]] :
// CHECK-NEXT:        scf.yield %[[R2]] :
//                No step leaves the sum as it was.
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[ZERO]] :
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %[[R1]] :
// CHECK-NEXT:    }
//                An item's own uses have no number yet.
// CHECK-NEXT:    dash.release %k_tiles :
// CHECK-NEXT:    dash.store %[[R]],
func.func @pipelined(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
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
