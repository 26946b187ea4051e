// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>, tensor<64xf32>>
!D = !dash.channel<tensor<128x64xbf16>>
!S = !dash.channel<tensor<128x128xf32>>

// Channels and what comes from them are named by what they hold.
// CHECK-LABEL: func.func @roles_share_channels
// CHECK:         dash.workers registers(168) shared_bytes(66560) attributes {tag = 1 : i64} {
// CHECK-NEXT:      %k_tiles = dash.channel "k" depth(2) at([1024, 66048], [32768, 256]) : !channel_128x128xbf16_64xf32
// CHECK-NEXT:      %sum_tiles = dash.channel "sum" depth(1) {tag = 2 : i64} : !channel_128x128xf32
// CHECK-NEXT:      dash.role "load" producer warps(1) registers(24) attributes {tag = 3 : i64} {
// CHECK-NEXT:        dash.items order(@order)
// CHECK:               dash.put %[[T:.+]], %[[L:.+]] into %k_tiles : tensor<128x128xbf16>, tensor<64xf32> into !channel_128x128xbf16_64xf32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      dash.role "compute" consumer warps(8) registers(240) {
// CHECK:               %k_tile, %k_rows = dash.wait %k_tiles : !channel_128x128xbf16_64xf32 -> tensor<128x128xbf16>, tensor<64xf32>
// CHECK-NEXT:          dash.take_tensor_core
// CHECK-NEXT:          %[[SQUARES:.+]] = dash.matmul %k_tile, transpose %k_tile :
// CHECK-NEXT:          dash.give_tensor_core {tag = 4 : i64}
// CHECK-NEXT:          dash.put %[[SQUARES]] into %sum_tiles : tensor<128x128xf32> into !channel_128x128xf32
// CHECK-NEXT:          dash.commit %sum_tiles : !channel_128x128xf32
// CHECK-NEXT:          dash.release %k_tiles : !channel_128x128xbf16_64xf32
func.func @roles_share_channels(%q: !T, %k: !T, %v: !T, %lse: memref<?x?x?xf32>) {
  dash.workers registers(168) shared_bytes(66560) attributes {tag = 1} {
    %k_tiles = dash.channel "k" depth(2) at([1024, 66048], [32768, 256]) : !C
    %sums = dash.channel "sum" depth(1) {tag = 2} : !S
    dash.role "load" producer warps(1) registers(24) attributes {tag = 3} {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        %l = dash.load %lse[%seq, %kv_head, %kv] : memref<?x?x?xf32> -> tensor<64xf32>
        dash.put %t, %l into %k_tiles : tensor<128x128xbf16>, tensor<64xf32> into !C
      }
    }
    dash.role "compute" consumer warps(8) registers(240) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t, %l = dash.wait %k_tiles : !C -> tensor<128x128xbf16>, tensor<64xf32>
        dash.take_tensor_core
        %squares = dash.matmul %t, transpose %t : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.give_tensor_core {tag = 4}
        dash.put %squares into %sums : tensor<128x128xf32> into !S
        dash.commit %sums : !S
        dash.release %k_tiles : !C
      }
    }
  }
  return
}

// In a walk with stages each op of a role says its own; with loops, each use of a channel has a number, and a store says through whose
// slot it goes.
// CHECK-LABEL: func.func @roles_in_time
// CHECK:         dash.walk (%{{.+}}, %{{.+}}, %{{.+}}) stages(3) {
// CHECK-NEXT:      dash.take_tensor_core stage(1)
// CHECK-NEXT:      %[[T:.+]], %[[L:.+]] = dash.wait %k_tiles stage(0) :
// CHECK-NEXT:      dash.give_tensor_core stage(1)
// CHECK-NEXT:      %[[S:.+]] = dash.matmul %[[T]], transpose %[[T]] stage(0) :
// CHECK-NEXT:      dash.put %[[S]] into %sum_tiles stage(1) :
// CHECK-NEXT:      dash.commit %sum_tiles stage(2) :
// CHECK-NEXT:      dash.release %k_tiles stage(1) :
// CHECK-NEXT:    }
func.func @roles_in_time(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !C
    %sums = dash.channel "sum" depth(1) : !S
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) stages(3) {
          dash.take_tensor_core stage(1)
          %t, %l = dash.wait %k_tiles stage(0) : !C -> tensor<128x128xbf16>, tensor<64xf32>
          dash.give_tensor_core stage(1)
          %squares = dash.matmul %t, transpose %t stage(0)
            : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
          dash.put %squares into %sums stage(1) : tensor<128x128xf32> into !S
          dash.commit %sums stage(2) : !S
          dash.release %k_tiles stage(1) : !C
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @uses_are_numbered
// CHECK:         dash.wait %k_tiles[%[[USE:.+]]] :
// CHECK-NEXT:    dash.put %{{.+}} into %sum_tiles[%[[USE]]] :
// CHECK-NEXT:    dash.commit %sum_tiles[%[[USE]]] :
// CHECK-NEXT:    dash.release %k_tiles[%[[USE]]] :
// CHECK-NEXT:    dash.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] scale(%{{.+}}) through %ds_tiles : !channel_128x64xbf16 ahead(0) : tensor<128x128xf32> -> memref<?x?x?x128xbf16>
func.func @uses_are_numbered(%use: index, %sum: tensor<128x128xf32>, %out: !T, %scale: f32) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(2) : !C
    %ds_tiles = dash.channel "ds" depth(2) : !D
    %sums = dash.channel "sum" depth(1) : !S
    dash.role "compute" consumer warps(8) {
      %t, %l = dash.wait %k_tiles[%use] : !C -> tensor<128x128xbf16>, tensor<64xf32>
      dash.put %sum into %sums[%use] : tensor<128x128xf32> into !S
      dash.commit %sums[%use] : !S
      dash.release %k_tiles[%use] : !C
      dash.store %sum, %out[%use, %use, %use] scale(%scale) through %ds_tiles : !D ahead(0) : tensor<128x128xf32> -> !T
    }
  }
  return
}
