// RUN: dash-opt %s --dash-lower-to-loops -verify-diagnostics -split-input-file

// What has no order has no bits to compute.
!T = memref<1x1x32x64xbf16>
!R = memref<1x1x32xf32>
func.func @not_tiled(%q: !T, %r: !R, %dq: !T, %dk: !T, %dv: !T) {
  // expected-error @below {{has no order to lower; run --dash-tile and --dash-apply-schedule first}}
  dash.attention_bwd ins(%q, %q, %q, %q, %r, delta = %r : !T, !T, !T, !T, !R, !R) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<full>) level(run)
  return
}

// -----

!T = memref<1x1x32x64xbf16>
func.func @not_scheduled(%q: !T) {
  // expected-error @below {{has no order to lower; run --dash-apply-schedule first}}
  dash.items unscheduled over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv) {
  }
  return
}

// -----

// expected-warning @below {{no scheduled 'dash.items' to lower; run --dash-tile and --dash-apply-schedule first}}
module @nothing_to_do {
}

// -----

// Lengths that come with a launch are those of an order, where there is one.
// expected-warning @below {{no scheduled 'dash.items' to lower; run --dash-tile and --dash-apply-schedule first}}
module {
  func.func @sink_of_unknown_lengths(%sink: memref<4xf32>, %lse: memref<1x4x8xf32>, %dsink: memref<?x4xf32>) {
    // expected-error @below {{no scheduled 'dash.items' that read its delta state the lengths of its sequences: state them}}
    dash.sink_gradient ins(%sink, %lse, %lse : memref<4xf32>, memref<1x4x8xf32>, memref<1x4x8xf32>)
                       outs(%dsink : memref<?x4xf32>) sequences(<?>)
    return
  }
}

// -----

// An order is proven before it is believed.
// expected-error @below {{'dash.schedule' op item (sequence 0, kv head 0, part 0, kv tile 1) has turn 2 at q tile 0 of head 0, expected 0 to 1}}
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv + 1>)
!T = memref<1x1x32x64xbf16>
func.func @wrong_order(%q: !T) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

// No order at all.
dash.schedule @order kind("unordered") level(run) parts(1) workers(1) width(1) unordered
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = 0>)
!T = memref<1x1x32x64xbf16>
!S = memref<1x1x32x64xf32>
func.func @no_turns(%q: !T, %zero: tensor<16x64xf32>, %sum: !S) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    dash.walk (%head, %qi, %turn) {
      // expected-error @below {{adds in no order, which has no bits to reproduce; use a schedule whose kind is not 'unordered'}}
      dash.reduce %zero into %sum[%seq, %head, %qi] : tensor<16x64xf32> into !S
    }
  }
  return
}

// -----

// Sums live outside.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
!S = memref<1x1x32x64xf32>
func.func @sum_inside(%q: !T, %zero: tensor<16x64xf32>) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    %sum = memref.alloc() : !S
    dash.walk (%head, %qi, %turn) {
      // expected-error @below {{must add to memory from outside of 'dash.items'}}
      dash.ordered_reduce %zero into %sum[%seq, %head, %qi] turn(%turn) : tensor<16x64xf32> into !S
    }
  }
  return
}

// -----

// Two chains may not share their sum.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
!S = memref<1x1x32x64xf32>
func.func @two_adds(%q: !T, %zero: tensor<16x64xf32>, %sum: !S) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    dash.walk (%head, %qi, %turn) {
      // expected-note @below {{the other}}
      dash.ordered_reduce %zero into %sum[%seq, %head, %qi] turn(%turn) : tensor<16x64xf32> into !S
      // expected-error @below {{adds to memory that another op adds to: give each a sum of its own}}
      dash.ordered_reduce %zero into %sum[%seq, %head, %qi] turn(%turn) : tensor<16x64xf32> into !S
    }
  }
  return
}

// -----

// Rows of a sum lie in one piece.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
!S = memref<1x1x32x64xf32, strided<[4096, 4096, 128, 2]>>
func.func @strided_sum(%q: !T, %zero: tensor<16x64xf32>, %sum: !S) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    dash.walk (%head, %qi, %turn) {
      // expected-error @below {{needs a sum with an innermost stride of 1, got 'memref<1x1x32x64xf32, strided<[4096, 4096, 128, 2]>>'}}
      dash.ordered_reduce %zero into %sum[%seq, %head, %qi] turn(%turn) : tensor<16x64xf32> into !S
    }
  }
  return
}

// -----

#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
// Sizes that are stated fit the order.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
func.func @rows_of_lse(%q: !T, %lse: memref<1x1x31xf32> {dash.tensor = #lse}) {
  // expected-error @below {{rows of 'lse' must be 32, as in the problem that the order was made for, got 31}}
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    %s = arith.constant dense<0.0> : tensor<16x16xf32>
    dash.walk (%head, %qi, %turn) {
      %l = dash.load %lse[%seq, %head, %qi] : memref<1x1x31xf32> -> tensor<16xf32>
      %p = dash.probability %s, %l at(%seq, %kv, %qi) : (tensor<16x16xf32>, tensor<16xf32>) -> tensor<16x16xf32>
    }
  }
  return
}

// -----

#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
// And what arguments are stated to be, their types.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
func.func @rows_of_q(%q: !T {dash.tensor = #lse}, %lse: memref<1x1x31xf32>) {
  // expected-error @below {{needs 'lse' (read, log_row) to be as its role says, #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>, got type 'memref<1x1x32x64xbf16>'}}
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    %s = arith.constant dense<0.0> : tensor<16x16xf32>
    dash.walk (%head, %qi, %turn) {
      %l = dash.load %lse[%seq, %head, %qi] : memref<1x1x31xf32> -> tensor<16xf32>
      %p = dash.probability %s, %l at(%seq, %kv, %qi) : (tensor<16x16xf32>, tensor<16xf32>) -> tensor<16x16xf32>
    }
  }
  return
}

// -----

// Whether a row is a query or a key row decides where it lies.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
func.func @computed_tile(%q: !T, %zero: index) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    %tile = arith.addi %kv, %zero : index
    // expected-error @below {{must name its tile by a block argument of 'dash.items' or 'dash.walk', which says whether its rows are query or key rows}}
    %k = dash.load %q[%seq, %kv_head, %tile] : !T -> tensor<16x64xbf16>
  }
  return
}

// -----

// The mask is known for tasks of the order only.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
func.func @probability_elsewhere(%q: !T, %zero: tensor<16x64xf32>) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    %s = arith.constant dense<0.0> : tensor<16x16xf32>
    %l = arith.constant dense<0.0> : tensor<16xf32>
    // expected-error @below {{must be at the sequence, kv tile and q tile of its task: block arguments of its 'dash.items' and 'dash.walk'}}
    %p = dash.probability %s, %l at(%seq, %kv, %kv) : (tensor<16x16xf32>, tensor<16xf32>) -> tensor<16x16xf32>
  }
  return
}

// -----

// Other ops on tiles are not ours to lower.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[32, 32]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x32x64xbf16>
func.func @foreign_op(%q: !T, %zero: tensor<16x64xf32>) {
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    // expected-error @below {{cannot be lowered to loops inside 'dash.items': only ops of dash may have tiles or regions there}}
    %twice = arith.addf %zero, %zero : tensor<16x64xf32>
  }
  return
}

// -----

// A slot for each task, and numbers for the slots.
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 16, kv = 16>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <[1000000, 1000000]>>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<1x1x1000000x64xbf16>
func.func @too_many_tasks(%q: !T) {
  // expected-error @below {{loops can hold the contributions of at most 2147483647 tasks, got 3906250000}}
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 16, kv = 16>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!row = memref<?x?x?xf32>

func.func @forward_without_an_order(%q: !T, %k: !T, %v: !T, %o: !T, %lse: !row) {
  // expected-error @below {{has no order to lower; run --dash-tile and --dash-apply-schedule first}}
  dash.attention_fwd ins(%q, %k, %v : !T, !T, !T) outs(%o, %lse : !T, !row) mask(<causal>) level(row)
  return
}
