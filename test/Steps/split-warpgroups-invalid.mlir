// RUN: dash-opt %s --dash-split-warpgroups -verify-diagnostics -split-input-file

// Products are of whole warpgroups.
func.func @warpgroups_are_whole() {
  dash.workers {
    // expected-error @below {{warps of a consumer must be whole warpgroups of 4, got 6}}
    dash.role "compute" consumer warps(6) {
      dash.take_tensor_core
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>) cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
    order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                         visit(kv, step) = step, turn(kv, q) = kv>)

// Items are loops by now.
func.func @items_are_loops(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{still has 'dash.items'; run --dash-read-order first}}
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}
