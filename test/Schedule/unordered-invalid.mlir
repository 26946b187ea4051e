// RUN: dash-opt %s -split-input-file -verify-diagnostics --dash-verify-schedule

// What has no order has no turns either.
// expected-error @below {{item (sequence 0, kv head 0, part 0, kv tile 1) has turn 1 at q tile 0 of head 0, expected 0 to 0}}
dash.schedule @turns kind("unordered") level(run) parts(1) workers(2) width(2) unordered
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)

// -----

// Coverage is proven as ever.
// expected-error @below {{item (sequence 0, kv head 0, part 0, kv tile 0) visits q tile 0 of head 0 twice}}
dash.schedule @coverage kind("unordered") level(run) parts(1) workers(2) width(2) unordered
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = 0, turn(kv, q) = 0>)

// -----

// expected-error @below {{schedule 'unordered' adds in any order, so its bits may differ from run to run: expected level run, got 'batch'}}
dash.schedule @level kind("unordered") level(batch) parts(1) workers(2) width(2) unordered
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = 0>)

// -----

// expected-note @below {{the schedule}}
dash.schedule @order kind("unordered") level(run) parts(1) workers(2) width(2) unordered
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = 0>)
!T = memref<1x1x32x64xbf16>
func.func @nobody_waits(%q: !T, %t: tensor<16x64xf32>, %dq: memref<1x1x32x64xf32>) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    dash.walk (%head, %qi, %turn) {
      // expected-error @below {{waits for a turn, but schedule '@order' of kind 'unordered' gives none: use 'dash.reduce'}}
      dash.ordered_reduce %t into %dq[%seq, %head, %qi] turn(%turn) : tensor<16x64xf32> into memref<1x1x32x64xf32>
    }
  }
  return
}

// -----

// expected-note @below {{the schedule}}
dash.schedule @order kind("unordered") level(run) parts(2) workers(2) width(2) unordered
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 2, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = 0>)
!Q = memref<1x2x32x64xbf16>
!T = memref<1x1x32x64xbf16>
func.func @parts_are_added(%q: !Q, %k: !T, %t: tensor<16x64xf32>, %dk: !T) {
  dash.items order(@order) over(%q, %k, %k : !Q, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{is written by each of the 2 parts of a kv head, one over the other: use 'dash.reduce'}}
    dash.store %t, %dk[%seq, %kv_head, %kv] : tensor<16x64xf32> -> !T
  }
  return
}
