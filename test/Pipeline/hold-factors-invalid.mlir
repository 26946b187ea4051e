// RUN: dash-opt %s --dash-hold-factors -verify-diagnostics -split-input-file

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// What is held is a left factor of the walk.
func.func @holds_what_nobody_reads(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{is held, but no product of the walk reads its tile by rows, as a left factor that is not transposed}}
    %k_tiles = dash.channel "k" depth(1) held : !dash.channel<tensor<128x128xbf16>>
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
        %kt = dash.wait %k_tiles : !dash.channel<tensor<128x128xbf16>> -> tensor<128x128xbf16>
        dash.walk (%q_head, %qi, %turn) {
          dash.take_tensor_core
          dash.give_tensor_core
        }
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

// What is held is of an item: a step's tile is another one each time.
func.func @holds_a_step(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{is held, but no product of the walk reads its tile by rows, as a left factor that is not transposed}}
    %q_tiles = dash.channel "q" depth(1) held : !dash.channel<tensor<128x128xbf16>>
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
        dash.walk (%q_head, %qi, %turn) {
          %qt = dash.wait %q_tiles : !dash.channel<tensor<128x128xbf16>> -> tensor<128x128xbf16>
          dash.take_tensor_core
          dash.give_tensor_core
        }
      }
    }
  }
  return
}

// -----

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.workers' with factors to hold; run --dash-assign-roles first}}
module {
}
