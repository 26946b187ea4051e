// RUN: dash-opt %s --dash-assign-roles -verify-diagnostics -split-input-file
// RUN: not dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile=split=dq --dash-apply-schedule=sizes=q:4096 --dash-assign-roles 2>&1 | FileCheck %s --check-prefix=OWN-Q
// OWN-Q: bwd-causal.mlir:[[#]]:3: error: kernels of items that own q tiles have a program of their own, and this one has items that own kv tiles too: run it on the CPU (--dash-lower-to-loops, dash-run), or write two programs, outs(dk = ..., dv = ...) and outs(dq = ...)


// Nothing to do is worth a word: the passes before it were forgotten.
// expected-warning @below {{no 'dash.items' to split among roles; run --dash-tile and --dash-apply-schedule first}}
module {
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
!T = memref<?x?x?x128xbf16>

// Roles have to agree on an order.
func.func @needs_an_order(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}) {
  // expected-error @below {{has no order for roles to follow; run --dash-apply-schedule first}}
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Roles overlap the steps of a walk.
func.func @needs_one_walk(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
  // expected-error @below {{roles overlap the steps of one 'dash.walk', got 0}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {

  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Roles follow a tiling, and choose nothing themselves.
func.func @needs_a_tiling(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}) {
  // expected-error @below {{has no tiling for roles to follow; run --dash-choose-tiling before --dash-tile}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    dash.walk (%head, %qi, %turn) {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %st = dash.matmul %kt, transpose %qt : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {k = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// So products say how warpgroups split them,
func.func @needs_splits(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    dash.walk (%head, %qi, %turn) {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      // expected-error @below {{does not say how warpgroups split it: run --dash-choose-tiling before --dash-tile, or state 'split'}}
      %st = dash.matmul %kt, transpose %qt : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 3 x 1}, hold = [],
                       slots = {k = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// among as many as the tiling has,
func.func @other_warpgroups(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    dash.walk (%head, %qi, %turn) {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      // expected-error @below {{is split #dash.split<2 x 1>, among other warpgroups than the 3 of the tiling}}
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {k = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// and each channel has slots.
func.func @needs_slots(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    dash.walk (%head, %qi, %turn) {
      // expected-error @below {{channel 'q' has no number of slots in the tiling, #dash.tiling<}}
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {k = 1, q = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Warpgroups exchange tiles of a step, not what a step leaves to the next.
func.func @factor_of_another_step(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}) {
  %zero = arith.constant dense<0.0> : tensor<128x64xbf16>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%p0 = %zero) : tensor<128x64xbf16> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p1 = dash.round %st : tensor<128x64xf32> to tensor<128x64xbf16>
      // expected-error @below {{reads a tile of another step as a factor that warpgroups exchange, and they exchange those of their step only}}
      %c = dash.matmul transpose %p0, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.yield %p1 : tensor<128x64xbf16>
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Memory outside the plan.
func.func @no_role_does_side_effects(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      // expected-error @below {{no role does this: roles load, compute with, add and store tiles}}
      %m = memref.alloc() : memref<4xf32>
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %st, %l at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %c = dash.matmul transpose %ph, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.ordered_reduce %c into %sum[%seq, %head, %qi] turn(%turn)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.yield %r1 : tensor<128x128xf32>
    }
    dash.store %r, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("unordered") level(run) parts(1) workers(2) width(2) unordered
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Parts of a kv head add to dK and dV at the end of an item, one after the other.
func.func @no_role_adds_for_items(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %st, %l at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %c = dash.matmul transpose %ph, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.reduce %c into %sum[%seq, %head, %qi]
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.yield %r1 : tensor<128x128xf32>
    }
    // expected-error @below {{adds to a tile of its item in no order, which no role does: order the problem with parts=1, or by another kind}}
    dash.reduce %r into %sum[%seq, %kv_head, %kv]
      : tensor<128x128xf32> into memref<?x?x?x128xf32>
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// There are slots for sums where steps have some.
func.func @sums_leave_through_slots_of_sums(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %st, %l at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      dash.yield %r1 : tensor<128x128xf32>
    }
    // expected-error @below {{adds a tile of its item, which leaves through the slots of sums of steps, as a whole or in pieces: expected a multiple of their rows, and as many columns}}
    dash.ordered_reduce %r into %sum[%seq, %kv_head, %kv] turn(%part_turn)
      : tensor<128x128xf32> into memref<?x?x?x128xf32>
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// In a step every slot is in use.
func.func @no_role_stores_in_steps(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %st, %l at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %c = dash.matmul transpose %ph, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.ordered_reduce %c into %sum[%seq, %head, %qi] turn(%turn)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      // expected-error @below {{stores in each step, which no role does: results leave at the end of an item, through slots that are free by then}}
      dash.store %r1, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
      dash.yield %r1 : tensor<128x128xf32>
    }
    dash.store %r, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// A row vector of a whole item goes with a tile of the item, and is used beside its product.
func.func @row_vectors_belong_to_steps(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T, %scores: tensor<128x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    // expected-error @below {{loads a row vector that is not used with a product of a tile of its step, or of its item, so it has no slot to travel in}}
    %item_rows = dash.load %lse[%seq, %kv_head, %kv] : memref<?x?x?xf32> -> tensor<64xf32>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %scores, %item_rows at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %c = dash.matmul transpose %ph, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.ordered_reduce %c into %sum[%seq, %head, %qi] turn(%turn)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.yield %r1 : tensor<128x128xf32>
    }
    dash.store %r, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// S comes from nowhere, so its row vector does too.
func.func @row_vectors_belong_to_products(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T, %scores: tensor<128x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      // expected-error @below {{loads a row vector that is not used with a product of a tile of its step, or of its item, so it has no slot to travel in}}
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %scores, %l at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %c = dash.matmul transpose %ph, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.ordered_reduce %c into %sum[%seq, %head, %qi] turn(%turn)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.yield %r1 : tensor<128x128xf32>
    }
    dash.store %r, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// A constant could be added without a channel.
func.func @adds_what_products_give(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T, %ones: tensor<64x128xf32>) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %st, %l at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %c = dash.matmul transpose %ph, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      // expected-error @below {{adds a tile that no product gives: there is nothing to hand on}}
      dash.ordered_reduce %ones into %sum[%seq, %head, %qi] turn(%turn)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.yield %r1 : tensor<128x128xf32>
    }
    dash.store %r, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Carried sums stay with the role that computes them.
func.func @adds_what_the_step_gives(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T, %ones: tensor<64x128xf32>) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r, %s = dash.walk (%head, %qi, %turn) init(%r0 = %zero, %s0 = %ones)
        : tensor<128x128xf32>, tensor<64x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %l = dash.load %lse[%seq, %head, %qi] : memref<?x?x?xf32> -> tensor<64xf32>
      %st = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p = dash.probability %st, %l at(%seq, %kv, %qi)
        : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
      %ph = dash.round %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %ph, %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %c = dash.matmul transpose %ph, %kt split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      // expected-error @below {{takes a value that another role makes, and only what products give in the same step, or walks at their end, crosses to where it is added}}
      dash.ordered_reduce %s0 into %sum[%seq, %head, %qi] turn(%turn)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.yield %r1, %c : tensor<128x128xf32>, tensor<64x128xf32>
    }
    dash.store %r, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {do = 1, dk = 1, dq = 1, ds = 1, k = 1, q = 1, sum = 1, tile = 1, v = 1, whole = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Where the mask's edge runs travels with tiles of a step.
func.func @steps_are_told_with_tiles(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %out: !T, %ph: tensor<128x64xbf16>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  // expected-error @below {{loads no tile of each step that all its consumers compute with, so nothing tells them what to do}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<64x128xf32> {
      %r1 = dash.matmul transpose %ph, %kt accumulate(%r0) split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.yield %r1 : tensor<64x128xf32>
    }
  }
  return
}
