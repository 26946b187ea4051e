// RUN: rm -rf %t && split-file %s %t

// RUN: not dash-opt %t/fwd.mlir --dash-tile='q=48 kv=128' -o /dev/null 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: fwd.mlir:[[#]]:3: error: folds 32 heads into q tiles of 48 rows, expected a multiple of the fold: take 64 rows
// RUN: not dash-opt %t/fwd.mlir --dash-tile='q=64 kv=128' --dash-apply-schedule='kind=ascending workers=4 sizes=q:10,kv:10,heads:48,kv-heads:1' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: error: q tiles fold 32 heads, which must divide the query heads of a kv head, got 48 heads over 1
// RUN: not dash-opt %t/other.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: 'dash.schedule' op item 1 has head 1, expected 0 to 0

//--- fwd.mlir
!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
func.func @f(%q: !T, %k: !T, %v: !T, %o: !T, %lse: !R) {
  dash.attention_fwd ins(%q, %k, %v : !T, !T, !T) outs(%o, %lse : !T, !R) mask(<causal>) level(row) fold(32)
  return
}

//--- other.mlir
dash.schedule @order kind("ascending") level(row) parts(1) workers(1) width(1)
    problem(<tiles = <q = 16, kv = 128, fold = 4>, mask = <full>, heads = 4, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[20, 128]>, own = q>)
    cost(<compute = 2.0, reduce = 1.0, latency = 0.5, buffers = 2>)
    order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 1, 0]]> : tensor<2x6xi32>,
                      visits = dense<[[0, 0, 0], [0, 0, 0]]> : tensor<2x3xi32>>)
