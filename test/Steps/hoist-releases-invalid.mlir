// RUN: dash-opt %s --dash-hoist-releases -verify-diagnostics

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Branches of an item are there once it is a loop.
func.func @needs_loops(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{has items that are not loops yet; run --dash-read-order first}}
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
        dash.walk (%q_head, %qi, %turn) {
          dash.take_tensor_core
          dash.give_tensor_core
        }
      }
    }
  }
  return
}
