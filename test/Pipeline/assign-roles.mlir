// RUN: dash-opt %s --dash-assign-roles | FileCheck %s

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

// A small program with each kind of crossing: tiles of an item and of a step, a row vector that goes with one, a factor that is
// summed over its rows, and a sum that is added elsewhere. What the consumer has to know of the order crosses too: how many steps an
// item has and where it is, with K; where the mask's edge runs, with Q.
// CHECK-LABEL: func.func @roles_by_use
// CHECK:         dash.workers {
// CHECK-NEXT:      %k_tiles = dash.channel "k" depth(1) : !channel_128x128xbf16_index_index_index_index
// CHECK-NEXT:      %q_tiles = dash.channel "q" depth(1) : !channel_64x128xbf16_64xf32_index
// CHECK-NEXT:      %whole_tiles = dash.channel "whole" depth(1) : !channel_128x64xbf16
// CHECK-NEXT:      %sum_tiles = dash.channel "sum" depth(1) : !channel_64x128xf32
// CHECK-NEXT:      dash.role "load-q" producer warps(1) {
// CHECK-NEXT:        dash.items order(@order) over(%[[Q:[^,]+]], %[[K:[^,]+]], %{{.+}})
// CHECK-NEXT:            tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]], %{{.+}}) {
// CHECK-NEXT:          dash.walk (%[[HEAD:.+]], %[[QI:.+]], %{{.+}}) {
// CHECK-NEXT:            %[[QT:.+]] = dash.load %[[Q]][%[[SEQ]], %[[HEAD]], %[[QI]]]
// CHECK-NEXT:            %[[L:.+]] = dash.load %{{.+}}[%[[SEQ]], %[[HEAD]], %[[QI]]]
// CHECK-NEXT:            %[[LEAD:.+]] = dash.band_lead at(%[[SEQ]], %[[KV]], %[[QI]]) mask(<full>) tiles(<q = 64, kv = 128>)
// CHECK-NEXT:            dash.put %[[QT]], %[[L]], %[[LEAD]] into %q_tiles
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      dash.role "reduce" reducer warps(1) {
// CHECK:               dash.walk (%[[HEAD:.+]], %[[QI:.+]], %[[TURN:.+]]) {
// CHECK-NEXT:            %[[SUM:.+]] = dash.wait %sum_tiles
// CHECK-NEXT:            dash.ordered_reduce %[[SUM]] into %{{.+}}[%{{.+}}, %[[HEAD]], %[[QI]]] turn(%[[TURN]])
// CHECK-NEXT:          }
// CHECK:           dash.role "load-kv" producer warps(1) {
// CHECK-NEXT:        dash.items
// CHECK-NEXT:            (%[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]], %{{.+}}) {
// CHECK-NEXT:          %[[KT:.+]] = dash.load %[[K]][%[[SEQ]], %[[KV_HEAD]], %[[KV]]]
// CHECK-NEXT:          %[[STEPS:.+]] = dash.num_steps
// CHECK-NEXT:          dash.put %[[KT]], %[[STEPS]], %[[SEQ]], %[[KV_HEAD]], %[[KV]] into %k_tiles
// CHECK-NEXT:        }
// CHECK:           dash.role "compute" consumer warps(8) {
// CHECK:               %[[KT:.+]], %[[STEPS:.+]], %[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]] = dash.wait %k_tiles
// CHECK-NEXT:          %[[R:.+]] = dash.walk ({{.+}}) init(%[[R0:.+]] = %{{.+}}) : tensor<128x128xf32> steps(%[[STEPS]]) {
// CHECK-NEXT:            %[[QT:.+]], %[[L:.+]], %[[LEAD:.+]] = dash.wait %q_tiles
// CHECK-NEXT:            %[[S:.+]] = dash.matmul %[[KT]], transpose %[[QT]] split({{.+}}) :
// CHECK-NEXT:            %[[LOG:.+]] = dash.log_probability %[[S]], %[[L]] :
// CHECK-NEXT:            %[[SHOWN:.+]] = dash.hide %[[LOG]] band(%[[LEAD]], %[[KV]])
// CHECK-NEXT:            %[[P:.+]] = dash.exp2 %[[SHOWN]]
// CHECK-NEXT:            %[[PH:.+]] = dash.round %[[P]]
// CHECK-NEXT:            dash.put %[[PH]] into %whole_tiles
// CHECK-NEXT:            %[[R1:.+]] = dash.matmul %[[PH]], %[[QT]] accumulate(%[[R0]])
// CHECK-NEXT:            %[[WHOLE:.+]] = dash.wait %whole_tiles
// CHECK-NEXT:            %[[C:.+]] = dash.matmul transpose %[[WHOLE]], %[[KT]] split({{.+}}) :
// CHECK-NEXT:            dash.put %[[C]] into %sum_tiles
// CHECK-NEXT:            dash.yield %[[R1]]
// CHECK-NEXT:          }
// CHECK-NEXT:          dash.store %[[R]], %{{.+}}[%[[SEQ]], %[[KV_HEAD]], %[[KV]]]
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @roles_by_use(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
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
