// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

!T = memref<?x?x?x128xbf16>
!Q = !dash.channel<tensor<64x128xbf16>, tensor<64xf32>, index>
!K = !dash.channel<tensor<128x128xbf16>, index>

// Who reads the order.
// CHECK-LABEL: func.func @producer_reads_the_order
// CHECK:         %[[N:.+]] = dash.num_items
// CHECK-NEXT:    %[[SEQ:.+]], %[[KV_HEAD:.+]], %[[KV:.+]], %[[HEAD0:.+]], %[[VISIT0:.+]], %[[VISITS:.+]], %[[ROUNDS:.+]] = dash.read_item[%[[N]]]
// CHECK-NEXT:    %[[HEAD:.+]], %[[Q:.+]], %[[TURN:.+]], %[[LAST:.+]] = dash.read_visit %[[VISIT0]][%[[VISITS]]] heads(%[[HEAD0]], %[[ROUNDS]])
// CHECK-NEXT:    %[[LEAD:.+]] = dash.band_lead at(%[[SEQ]], %[[KV]], %[[Q]]) mask(<causal>) tiles(<q = 64, kv = 128>)
// CHECK-NEXT:    %[[T:.+]] = dash.load
// CHECK-NEXT:    %[[L:.+]] = dash.load
// CHECK-NEXT:    dash.put %[[T]], %[[L]], %[[LEAD]] into %q_tiles[%[[N]]] : tensor<64x128xbf16>, tensor<64xf32>, index into !channel_64x128xbf16_64xf32_index
// CHECK-NEXT:    dash.draw_item first
// CHECK-NEXT:    dash.draw_item{{$}}
// CHECK:         dash.role "reduce" reducer warps(2) {
// CHECK-NEXT:      dash.warp_of_role {tag = 1 : i64}
func.func @producer_reads_the_order(%q: !T, %lse: memref<?x?x?xf32>) {
  dash.workers {
    %q_tiles = dash.channel "q" depth(2) : !Q
    dash.role "load-q" producer warps(1) {
      %n = dash.num_items
      %seq, %kv_head, %kv, %head0, %visit0, %visits, %rounds = dash.read_item[%n]
      %head, %qi, %turn, %last = dash.read_visit %visit0[%visits] heads(%head0, %rounds)
      %lead = dash.band_lead at(%seq, %kv, %qi) mask(<causal>) tiles(<q = 64, kv = 128>)
      %t = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      dash.put %t, %l, %lead into %q_tiles[%n] : tensor<64x128xbf16>, tensor<64xf32>, index into !Q
      %drawn = dash.draw_item first
      %next = dash.draw_item
    }
    dash.role "reduce" reducer warps(2) {
      %warp = dash.warp_of_role {tag = 1}
    }
  }
  return
}

// Who is told: what it computes with stands in slots that it has waited for, and those that it still holds.
// CHECK-LABEL: func.func @consumer_is_told
// CHECK:         %[[USE:.+]] = arith.constant 3 : index
// CHECK-NEXT:    %[[K:.+]], %[[KV:.+]] = dash.wait %k_tiles[%[[USE]]] : !channel_128x128xbf16_index -> tensor<128x128xbf16>, index
// CHECK-NEXT:    %[[Q:.+]], %[[L:.+]], %[[LEAD:.+]] = dash.wait %q_tiles[%[[USE]]] : !channel_64x128xbf16_64xf32_index -> tensor<64x128xbf16>, tensor<64xf32>, index
// CHECK-NEXT:    %[[S:.+]] = dash.matmul %[[K]], transpose %[[Q]] :
// CHECK-NEXT:    dash.log_probability %[[S]], %[[L]] : tensor<128x64xf32>, tensor<64xf32>
// CHECK-NEXT:    %[[LOG:.+]] = dash.log_probability %[[S]], %[[L]] scale(%{{.+}}) : tensor<128x64xf32>, tensor<64xf32>
// CHECK-NEXT:    %[[SHOWN:.+]] = dash.hide %[[LOG]] band(%[[LEAD]], %[[KV]]) : tensor<128x64xf32>
// CHECK-NEXT:    dash.hide %[[LOG]] band(%[[LEAD]], %[[KV]]) mask(<window = [512, 0]>) stage(0) : tensor<128x64xf32>
// CHECK-NEXT:    dash.hide %[[LOG]] band(%[[LEAD]], %[[KV]]) q_rows : tensor<128x64xf32>
// CHECK-NEXT:    dash.hide %[[LOG]] band(%[[LEAD]], %[[KV]]) of(%[[USE]]) again(%k_tiles[%[[USE]]] indices([0, 0]) : !channel_128x128xbf16_index) : tensor<128x64xf32>
// CHECK-NEXT:    dash.exp2 %[[SHOWN]] : tensor<128x64xf32>
// CHECK-NEXT:    %{{.+}}:2 = dash.held %q_tiles[%[[USE]]] : !channel_64x128xbf16_64xf32_index -> tensor<64x128xbf16>, tensor<64xf32>
// CHECK-NEXT:    dash.release %q_tiles[%[[USE]]] :
func.func @consumer_is_told(%scale: f32) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    %q_tiles = dash.channel "q" depth(2) : !Q
    dash.role "compute" consumer warps(8) {
      %use = arith.constant 3 : index
      %k, %kv = dash.wait %k_tiles[%use] : !K -> tensor<128x128xbf16>, index
      %q, %l, %lead = dash.wait %q_tiles[%use] : !Q -> tensor<64x128xbf16>, tensor<64xf32>, index
      %s = dash.matmul %k, transpose %q : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %unscaled = dash.log_probability %s, %l : tensor<128x64xf32>, tensor<64xf32>
      %log = dash.log_probability %s, %l scale(%scale) : tensor<128x64xf32>, tensor<64xf32>
      %shown = dash.hide %log band(%lead, %kv) : tensor<128x64xf32>
      %between = dash.hide %log band(%lead, %kv) mask(<window = [512, 0]>) stage(0) : tensor<128x64xf32>
      %untransposed = dash.hide %log band(%lead, %kv) q_rows : tensor<128x64xf32>
      %again = dash.hide %log band(%lead, %kv) of(%use) again(%k_tiles[%use] indices([0, 0]) : !K) : tensor<128x64xf32>
      %p = dash.exp2 %shown : tensor<128x64xf32>
      %held:2 = dash.held %q_tiles[%use] : !Q -> tensor<64x128xbf16>, tensor<64xf32>
      dash.release %q_tiles[%use] : !Q
    }
  }
  return
}

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)

// While items are items, a producer says how many steps they have.
// CHECK-LABEL: func.func @producer_says_how_many_steps
// CHECK:         %[[STEPS:.+]] = dash.num_steps
// CHECK-NEXT:    dash.put %{{.+}}, %[[STEPS]] into %k_tiles :
func.func @producer_says_how_many_steps(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "load-kv" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        %steps = dash.num_steps
        dash.put %t, %steps into %k_tiles : tensor<128x128xbf16>, index into !K
      }
    }
  }
  return
}
