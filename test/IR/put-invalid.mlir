// RUN: dash-opt %s -verify-diagnostics -split-input-file

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// A slot has the size of its tiles.
func.func @tiles_are_those_of_a_slot(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xbf16>) {
  dash.workers {
    %tiles = dash.channel "rows" depth(1) : !dash.channel<tensor<64xf32>>
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{'dash.put' op elements must be those of a slot of '!dash.channel<tensor<64xf32>>', got 'tensor<64x128xbf16>'}}
        dash.put %t into %tiles : tensor<64x128xbf16> into !dash.channel<tensor<64xf32>>
      }
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<64xf32>, tensor<64xf32>>

// Hardware and threads say in different ways that they are done.
func.func @tiles_are_written_by_one_hand(%q: !T, %k: !T, %v: !T, %lse: memref<?x?x?xf32>, %t: tensor<64xf32>) {
  dash.workers {
    %tiles = dash.channel "rows" depth(1) : !C
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %l = dash.load %lse[%seq, %kv_head, %kv] : memref<?x?x?xf32> -> tensor<64xf32>
        // expected-error @below {{'dash.put' op tiles must all come from 'dash.load', or none}}
        dash.put %l, %t into %tiles : tensor<64xf32>, tensor<64xf32> into !C
      }
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// The same on the other side.
func.func @got_tiles_are_those_of_a_slot(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    %tiles = dash.channel "rows" depth(1) : !dash.channel<tensor<64xf32>>
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{'dash.wait' op elements must be those of a slot of '!dash.channel<tensor<64xf32>>', got 'tensor<64x128xbf16>'}}
        %got = dash.wait %tiles : !dash.channel<tensor<64xf32>> -> tensor<64x128xbf16>
      }
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// A role that puts into a channel has warps that wait.
func.func @publishes_inside_roles(%q: !T, %k: !T, %v: !T, %tiles: !dash.channel<tensor<64xf32>>) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{'dash.commit' op stands inside 'dash.role' only: channels connect roles}}
    dash.commit %tiles : !dash.channel<tensor<64xf32>>
  }
  return
}
