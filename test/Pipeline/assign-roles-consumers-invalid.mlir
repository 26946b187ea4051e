// RUN: dash-opt %s --dash-assign-roles=consumers=by-gradient -verify-diagnostics -split-input-file
// RUN: not dash-opt %dash_examples/bwd-full.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift workers=4 parts=2 assume=true' \
// RUN:   --dash-assign-roles=consumers=by-gradient 2>&1 | FileCheck %s --check-prefix=PARTS

// PARTS: error: adds a sum of an item, which leaves through the slots of sums of steps, and one role fills them: order the problem with parts=1, or assign roles with consumers=together

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {k = 1, q = 1, v = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Each consumer carries its own sum.
func.func @sums_are_apart(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %dk: !T, %dv: !T) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r:2 = dash.walk (%head, %qi, %turn) init(%a = %zero, %b = %zero) : tensor<128x128xf32>, tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %s1 = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p1 = dash.round %s1 : tensor<128x64xf32> to tensor<128x64xbf16>
      %s2 = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p2 = dash.round %s2 : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %p1, %qt accumulate(%a) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      // expected-error @below {{computes with a sum of another consumer than 'sum': assign roles with consumers=together}}
      %r2 = dash.matmul %p2, %qt accumulate(%a) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      dash.yield %r1, %r2 : tensor<128x128xf32>, tensor<128x128xf32>
    }
    dash.store %r#0, %dv[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
    dash.store %r#1, %dk[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {k = 1, q = 1, v = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// All consumers are told by one tile of a step where the mask's edges run.
func.func @told_in_steps(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %dk: !T, %dv: !T) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  // expected-error @below {{loads no tile of each step that all its consumers compute with, so nothing tells them what to do}}
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %vt = dash.load %v[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    %r:2 = dash.walk (%head, %qi, %turn) init(%a = %zero, %b = %zero) : tensor<128x128xf32>, tensor<128x128xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %s1 = dash.matmul %kt, transpose %qt split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p1 = dash.round %s1 : tensor<128x64xf32> to tensor<128x64xbf16>
      %qu = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %s2 = dash.matmul %vt, transpose %qu split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %p2 = dash.round %s2 : tensor<128x64xf32> to tensor<128x64xbf16>
      %r1 = dash.matmul %p1, %qt accumulate(%a) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      %r2 = dash.matmul %p2, %qu accumulate(%b) split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      dash.yield %r1, %r2 : tensor<128x128xf32>, tensor<128x128xf32>
    }
    dash.store %r#0, %dv[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
    dash.store %r#1, %dk[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}
