// RUN: dash-opt %s --dash-check-kernels -verify-diagnostics -split-input-file

// Programs that --dash-tile would not spell so.

// expected-warning @below {{no scheduled 'dash.items' to make kernels of; run --dash-tile and --dash-apply-schedule first}}
module @nothing_to_do {
}

// -----

#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) min_workers(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>) order(#formulas)
%q = builtin.unrealized_conversion_cast to !T
// expected-error @below {{kernels are made of functions, and this stands in none}}
dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
    (%seq, %kv_head, %kv, %part_turn) {
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) min_workers(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>) order(#formulas)
func.func @no_convert(%q: !T {dash.tensor = #q}, %o: !T {dash.tensor = #o}, %do: !T {dash.tensor = #do}) {
  %delta = memref.alloc() : !R
  dash.delta ins(%o, %do : !T, !T) outs(%delta : !R)
  %sum = memref.alloc() : memref<1x1x64x64xf32>
  // expected-error @below {{dq must be rounded by 'dash.convert', from sums that the function allocates}}
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    dash.walk (%head, %qi, %turn) {
      dash.ordered_reduce %c into %sum[%seq, %head, %qi] turn(%turn) : tensor<64x64xf32> into memref<1x1x64x64xf32>
    }
  }
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
!S = memref<1x1x64x64xf32>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) min_workers(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>) order(#formulas)
func.func @no_fill(%q: !T {dash.tensor = #q}, %o: !T {dash.tensor = #o}, %do: !T {dash.tensor = #do}, %dq: !T {dash.tensor = #dq}) {
  %delta = memref.alloc() : !R
  dash.delta ins(%o, %do : !T, !T) outs(%delta : !R)
  %sum = memref.alloc() : !S
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
  }
  // expected-error @below {{sums that get no add must be zeros: expected a 'linalg.fill' of 0}}
  dash.convert %sum to %dq : !S to !T
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
#scale = #dash.tensor_role<"scale", side = q, access = read, kind = number, element = f32>
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
!R = memref<1x1x64xf32>
!S = memref<1x1x64x64xf32>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) min_workers(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>) order(#formulas)
func.func @two_scales(%q: !T {dash.tensor = #q}, %o: !T {dash.tensor = #o}, %do: !T {dash.tensor = #do}, %dq: !T {dash.tensor = #dq}, %s: tensor<128x64xf32>, %lse: tensor<64xf32>, %scale: f32 {dash.tensor = #scale}) {
  %delta = memref.alloc() : !R
  dash.delta ins(%o, %do : !T, !T) outs(%delta : !R)
  %sum = memref.alloc() : !S
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : !S)
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
    dash.walk (%head, %qi, %turn) {
      // expected-error @below {{must have the scale of 'dash.convert': kernels have one}}
      %p = dash.probability %s, %lse at(%seq, %kv, %qi) : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
    }
  }
  dash.convert %sum to %dq scale(%scale) : !S to !T
  return
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#problem = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64,
                         head_dim_v = 64, sequences = <[64, 64]>>
#formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                           visit(kv, step) = step, turn(kv, q) = kv>
!T = memref<1x1x64x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(1) width(1) problem(#problem)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>) order(#formulas)
func.func @not_proven(%q: !T {dash.tensor = #q}) {
  // expected-error @below {{order '@order' is not proven: it has no min_workers; run --dash-verify-schedule first}}
  dash.items order(@order) over(%q, %q, %q : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
      (%seq, %kv_head, %kv, %part_turn) {
  }
  return
}
