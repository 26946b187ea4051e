// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @unscheduled_has_no_turns(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xf32>, %s: memref<?x?x?x128xf32>) {
  // expected-note @below {{unscheduled here}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.ordered_reduce' op needs a turn, which unscheduled 'dash.items' does not give: use 'dash.reduce'}}
    dash.ordered_reduce %t into %s[%seq, %kv_head, %kv] turn(%kv)
      : tensor<64x128xf32> into memref<?x?x?x128xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <[3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @columns_are_the_head_dim(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xf32>, %s: memref<?x?x?x64xf32>) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{'dash.ordered_reduce' op tile must have as many columns as the head dim of the memref, 64, got 128}}
    dash.ordered_reduce %t into %s[%seq, %kv_head, %kv] turn(%part_turn)
      : tensor<64x128xf32> into memref<?x?x?x64xf32>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

dash.schedule @order kind("shift") level(run) parts(1) workers(4) width(4)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4, head_dim = 128,
           head_dim_v = 128, sequences = <[3000, 2000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step,
                       turn(kv, q) = kv>)

func.func @turn_is_that_of_the_walk(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xf32>, %s: memref<?x?x?x128xf32>) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    dash.walk (%head, %qi, %turn) {
      // expected-error @below {{'dash.ordered_reduce' op must add to the tile and at the turn of the enclosing 'dash.walk', which its order is proven for: use its arguments as they are}}
      dash.ordered_reduce %t into %s[%seq, %head, %qi] turn(%qi) : tensor<64x128xf32> into memref<?x?x?x128xf32>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)

// Pieces are counted from 0.
func.func @piece_is_one_of_the_tile(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xf32>, %s: memref<?x?x?x128xf32>) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{'dash.ordered_reduce' op adds piece 2 of 2, expected a piece from 0 to 1 of at least 2}}
    dash.ordered_reduce %t into %s[%seq, %kv_head, %kv] piece(2 of 2) turn(%part_turn)
      : tensor<64x128xf32> into memref<?x?x?x128xf32>
  }
  return
}

// -----

!S = memref<?x?x?x128xf32>
!T = memref<?x?x?x128xbf16>

func.func @nobody_adds_up(%a: tensor<64x128xf32>, %sum: !S, %dq: !T, %i: index) {
  dash.workers {
    dash.role "reduce" reducer warps(2) {
      // expected-error @below {{'dash.ordered_reduce' op is kept apart, but 'dash.convert' does not add contributions up}}
      dash.ordered_reduce %a into %sum[%i, %i, %i] turn(%i) last(%i) apart : tensor<64x128xf32> into !S
    }
  }
  // expected-note @below {{the 'dash.convert' of its target}}
  dash.convert %sum to %dq : !S to !T
  return
}

// -----

!S = memref<?x?x?x128xf32>
!T = memref<?x?x?x128xbf16>

func.func @nothing_is_apart(%a: tensor<64x128xf32>, %sum: !S, %dq: !T, %i: index) {
  dash.workers {
    dash.role "reduce" reducer warps(2) {
      // expected-error @below {{'dash.ordered_reduce' op adds to a sum, but 'dash.convert' adds contributions up that are kept apart}}
      dash.ordered_reduce %a into %sum[%i, %i, %i] turn(%i) last(%i) : tensor<64x128xf32> into !S
    }
  }
  // expected-note @below {{the 'dash.convert' of its target}}
  dash.convert %sum to %dq apart : !S to !T
  return
}

// -----

!S = memref<?x?x?x128xf32>
!T = memref<?x?x?x128xbf16>

func.func @nobody_waits(%a: tensor<64x128xf32>, %sum: !S, %dq: !T, %i: index) {
  dash.workers {
    dash.role "reduce" reducer warps(2) {
      // expected-error @below {{'dash.ordered_reduce' op signals that a sum is complete, but 'dash.convert' does not await it}}
      dash.ordered_reduce %a into %sum[%i, %i, %i] turn(%i) last(%i) signals_completion : tensor<64x128xf32> into !S
    }
  }
  // expected-note @below {{the 'dash.convert' of its target}}
  dash.convert %sum to %dq : !S to !T
  return
}

// -----

!S = memref<?x?x?x128xf32>
!T = memref<?x?x?x128xbf16>

func.func @nobody_tells(%a: tensor<64x128xf32>, %sum: !S, %dq: !T, %i: index) {
  dash.workers {
    dash.role "reduce" reducer warps(2) {
      // expected-error @below {{'dash.ordered_reduce' op does not signal that a sum is complete, but 'dash.convert' awaits it}}
      dash.ordered_reduce %a into %sum[%i, %i, %i] turn(%i) last(%i) : tensor<64x128xf32> into !S
    }
  }
  // expected-note @below {{the 'dash.convert' of its target}}
  dash.convert %sum to %dq awaits_completion : !S to !T
  return
}

// -----

func.func @no_sum(%a: tensor<64x128xf32>, %sum: memref<?x?x?x128xf32>, %i: index) {
  dash.workers {
    dash.role "reduce" reducer warps(2) {
      // expected-error @below {{'dash.ordered_reduce' op is kept apart, so there is no sum that it could tell of}}
      dash.ordered_reduce %a into %sum[%i, %i, %i] turn(%i) last(%i) apart signals_completion : tensor<64x128xf32> into memref<?x?x?x128xf32>
    }
  }
  return
}
