// RUN: dash-opt %s --dash-assign-roles --dash-order-products --dash-place-releases | FileCheck %s

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

// Who only adds releases what it has added. Who multiplies commits P under its products and releases it in front of the put of
// what was made from it; releases Q in front of the wait for the next; and commits its sum after its turn.
// CHECK-LABEL: func.func @released_where_a_wait_is_due
// CHECK:         dash.role "reduce"
// CHECK:             dash.ordered_reduce
// CHECK-NEXT:        dash.release %sum_tiles
// CHECK-NEXT:      }
// CHECK:         dash.role "load-kv"
// CHECK-NOT:     dash.commit
// CHECK:         dash.role "compute"
// CHECK:           dash.walk
// CHECK-NEXT:        dash.take_tensor_core stage(1)
// CHECK-NEXT:        {{.+}} = dash.wait %whole_tiles stage(2)
// CHECK-NEXT:        {{.+}} = dash.matmul {{.+}} stage(2)
// CHECK-NEXT:        {{.+}} = dash.matmul {{.+}} accumulate(%{{.+}}) stage(1)
// CHECK-NEXT:        dash.commit %whole_tiles stage(1)
// CHECK-NEXT:        dash.release %whole_tiles stage(2)
// CHECK-NEXT:        dash.put {{.+}} into %sum_tiles stage(2)
// CHECK-NEXT:        dash.release %q_tiles stage(1)
// CHECK-NEXT:        {{.+}} = dash.wait %q_tiles stage(0)
// CHECK-NEXT:        {{.+}} = dash.matmul {{.+}} stage(0)
// CHECK-NEXT:        dash.give_tensor_core stage(1)
// CHECK-NEXT:        dash.commit %sum_tiles stage(2)
// CHECK-NEXT:        {{.+}} = dash.log_probability {{.+}} stage(0)
// CHECK-NEXT:        {{.+}} = dash.hide {{.+}} stage(0)
// CHECK-NEXT:        {{.+}} = dash.exp2 {{.+}} stage(0)
// CHECK-NEXT:        {{.+}} = dash.round {{.+}} stage(0)
// CHECK-NEXT:        dash.put {{.+}} into %whole_tiles stage(0)
// CHECK-NEXT:        dash.yield
// CHECK-NEXT:      }
//                  The result leaves through slots that the role fills next.
// CHECK-NEXT:      dash.release %k_tiles
// CHECK-NEXT:      dash.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{[^ ]+}}] through %whole_tiles : !channel_128x64xbf16 ahead(0) : tensor
// CHECK-NEXT:    }
func.func @released_where_a_wait_is_due(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
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
