// RUN: dash-opt %s --dash-lower-to-loops=contributions=true -verify-diagnostics -split-input-file

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
// Only what a caller can name is given to it.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
!S = memref<1x1x32x64xf32>
func.func @nameless(%q: !T {dash.tensor = #q}, %zero: tensor<16x64xf32>, %sum: !S) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    dash.walk (%head, %qi, %turn) {
      // expected-error @below {{has contributions to sums that have no '#dash.tensor_role': only those that 'dash.convert' rounds to an argument with 'dash.tensor' can be given to a caller}}
      dash.ordered_reduce %zero into %sum[%seq, %head, %qi] turn(%turn) : tensor<16x64xf32> into !S
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
// Callers know nothing of the new arguments.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
// expected-error @below {{has callers, which contributions=true would leave without an argument}}
func.func @called(%q: !T {dash.tensor = #q}) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}
func.func @caller(%q: !T {dash.tensor = #q}) {
  call @called(%q) : (!T) -> ()
  return
}
