// RUN: dash-opt %s --dash-assign-roles --dash-order-products -verify-diagnostics -split-input-file
// RUN: not dash-opt %S/order-products.mlir --dash-assign-roles --dash-order-products --dash-order-products 2>&1 | FileCheck %s --check-prefix=TWICE

// The order of issue is text, and edited text is verified: a stage that no walk of three has, one that is no number, and an op in front
// of what it reads in its own step. Each is refused where it stands.
// RUN: dash-opt %S/order-products.mlir --dash-assign-roles --dash-order-products | sed 's/\(dash.wait %whole_tiles\) stage(2)/\1 stage(3)/' | not dash-opt 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: <stdin>:{{[0-9]+}}:{{[0-9]+}}: error: 'dash.wait' op needs a stage from 0 to 2, got 3
// RUN: dash-opt %S/order-products.mlir --dash-assign-roles --dash-order-products | sed 's/\(dash.wait %whole_tiles\) stage(2)/\1 stage(late)/' | not dash-opt 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: <stdin>:{{[0-9]+}}:{{[0-9]+}}: error: expected attribute value
// RUN: dash-opt %S/order-products.mlir --dash-assign-roles --dash-order-products | sed '/dash.exp2/{h;d}; /dash.round/G' | not dash-opt 2>&1 | FileCheck %s --check-prefix=SWAPPED
// SWAPPED: <stdin>:{{[0-9]+}}:{{[0-9]+}}: error: 'dash.round' op is issued before what it needs
// SWAPPED: <stdin>:{{[0-9]+}}:{{[0-9]+}}: note: needs this

// An order that is there stays.
// TWICE: error: has an order of issue already

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.items' to split among roles; run --dash-tile and --dash-apply-schedule first}}
// expected-warning @below {{no 'dash.workers' to order; run --dash-assign-roles first}}
module {
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#v = #dash.tensor_role<"v", side = kv, access = read, kind = tile, element = bf16, columns = 128>
#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#tiling = #dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating, splits = {s = 2 x 1}, hold = [],
                       slots = {ds = 1, k = 1, q = 1, sum = 1, v = 1, whole = 1, whole1 = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// A sum that is carried cannot be computed ahead. With one product in a step, nothing has to be.
func.func @needs_a_product_of_loaded_tiles(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T, %zero: tensor<128x64xf32>) {
  dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) tiling(#tiling) (%seq, %kv_head, %kv, %part_turn) {
    %kt = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
    // expected-error @below {{has no product of loaded tiles alone to issue a step ahead}}
    %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x64xf32> {
      %qt = dash.load %q[%seq, %head, %qi] : !T -> tensor<64x128xbf16>
      %r1 = dash.matmul %kt, transpose %qt accumulate(%r0) split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      %r2 = dash.matmul %kt, transpose %qt accumulate(%r1) split(<2 x 1>) : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
      dash.yield %r2 : tensor<128x64xf32>
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
                       slots = {ds = 1, k = 1, q = 1, sum = 1, v = 1, whole = 1, whole1 = 1}>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// A product between two exponentials would be waited for within the step.
func.func @element_wise_work_comes_first(%q: !T {dash.tensor = #q}, %k: !T {dash.tensor = #k}, %v: !T {dash.tensor = #v}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}, %sum: memref<?x?x?x128xf32>, %out: !T) {
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
      // expected-note @below {{needs this}}
      %again = dash.matmul %ph, %qt split(<2 x 1>) : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
      // expected-error @below {{would be issued before what it needs: element-wise work comes in front of the products of a step}}
      %rounded = dash.round %again : tensor<128x128xf32> to tensor<128x128xbf16>
      %c = dash.matmul transpose %ph, %rounded split(<1 x 2>) : (tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<64x128xf32>
      dash.ordered_reduce %c into %sum[%seq, %head, %qi] turn(%turn)
        : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.yield %r1 : tensor<128x128xf32>
    }
    dash.store %r, %out[%seq, %kv_head, %kv] : tensor<128x128xf32> -> !T
  }
  return
}
