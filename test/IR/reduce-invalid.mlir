// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @rows_are_those_of_a_tile(%q: !T, %k: !T, %v: !T, %t: tensor<32x128xf32>, %s: memref<?x?x?x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.reduce' op tile must have 64 (q) or 128 (kv) rows, the tiles of its 'dash.items', got 32}}
    dash.reduce %t into %s[%seq, %kv_head, %kv] : tensor<32x128xf32> into memref<?x?x?x128xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <[3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @order_leaves_no_add_free(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xf32>, %s: memref<?x?x?x128xf32>) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{'dash.reduce' op adds in no order, but schedule '@order' of kind 'shift' orders every add: use 'dash.ordered_reduce'}}
    dash.reduce %t into %s[%seq, %kv_head, %kv] : tensor<64x128xf32> into memref<?x?x?x128xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

// expected-note @below {{the schedule}}
dash.schedule @order kind("ascending") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <[3000, 2000]>, chains = false>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step>)

func.func @nothing_adds_without_chains(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xf32>, %s: memref<?x?x?x128xf32>) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{'dash.ordered_reduce' op adds across items, but schedule '@order' has no chains}}
    dash.ordered_reduce %t into %s[%seq, %kv_head, %kv] turn(%part_turn) : tensor<64x128xf32> into memref<?x?x?x128xf32>
  }
  return
}
