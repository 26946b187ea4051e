// RUN: rm -rf %t && split-file %s %t

// RUN: not dash-opt %t/fwd.mlir --dash-tile='q=64 kv=128' -o /dev/null 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: fwd.mlir:[[#]]:3: error: cuts keys into pieces of 1000 rows, expected a multiple of the kv tile, 128: take 896 or 1024
// RUN: sed 's/cut(1000)/cut(100)/' %t/fwd.mlir | not dash-opt --dash-tile='q=64 kv=128' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: error: cuts keys into pieces of 100 rows, expected a multiple of the kv tile, 128: take 128

// RUN: not dash-opt %t/piece.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=PIECE
// PIECE: error: 'dash.schedule' op item 1 has piece 2, expected 0 to 1
// RUN: not dash-opt %t/turn.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=TURN
// TURN: error: 'dash.schedule' op item 1 is of piece 1 of the keys, expected the same number as its part turn, got 0
// RUN: not dash-opt %t/twice.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: 'dash.schedule' op items 0 (worker 0) and 1 (worker 0) are both item (sequence 0, head 0, piece 0, q tile 0), expected it once
// RUN: not dash-opt %t/other.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: 'dash.schedule' op item (sequence 0, head 0, piece 0, q tile 0) visits kv tile 1 of kv head 0, expected kv tiles 0 to 0 of kv heads 0 to 0
// RUN: sed 's/\[0, 1, 0\]\]>/[0, 0, 0]]>/; s/\[\[0, 1, 0\]/[[0, 0, 0]/' %t/other.mlir | not dash-opt --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=NEXT
// NEXT: error: 'dash.schedule' op item (sequence 0, head 0, piece 1, q tile 0) visits kv tile 0 of kv head 0, expected kv tiles 1 to 1 of kv heads 0 to 0

//--- fwd.mlir
!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
func.func @f(%q: !T, %k: !T, %v: !T, %o: !T, %lse: !R) {
  dash.attention_fwd ins(%q, %k, %v : !T, !T, !T) outs(%o, %lse : !T, !R) mask(<causal>) level(row) cut(1000)
  return
}

//--- piece.mlir
dash.schedule @order kind("ascending") level(row) parts(1) workers(1) width(1)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[64, 256]>, own = q, cut = 128>)
    cost(<compute = 2.0, reduce = 1.0, latency = 0.5, buffers = 2>)
    order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [0, 0, 0, 2, 0, 2]]> : tensor<2x6xi32>,
                      visits = dense<[[0, 0, 0], [0, 1, 0]]> : tensor<2x3xi32>>)

//--- turn.mlir
dash.schedule @order kind("ascending") level(row) parts(1) workers(1) width(1)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[64, 256]>, own = q, cut = 128>)
    cost(<compute = 2.0, reduce = 1.0, latency = 0.5, buffers = 2>)
    order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]]> : tensor<2x6xi32>,
                      visits = dense<[[0, 0, 0], [0, 1, 0]]> : tensor<2x3xi32>>)

//--- twice.mlir
dash.schedule @order kind("ascending") level(row) parts(1) workers(1) width(1)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[64, 256]>, own = q, cut = 128>)
    cost(<compute = 2.0, reduce = 1.0, latency = 0.5, buffers = 2>)
    order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]> : tensor<2x6xi32>,
                      visits = dense<[[0, 0, 0], [0, 1, 0]]> : tensor<2x3xi32>>)

//--- other.mlir
dash.schedule @order kind("ascending") level(row) parts(1) workers(1) width(1)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[64, 256]>, own = q, cut = 128>)
    cost(<compute = 2.0, reduce = 1.0, latency = 0.5, buffers = 2>)
    order(#dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1]]> : tensor<2x6xi32>,
                      visits = dense<[[0, 1, 0], [0, 1, 0]]> : tensor<2x3xi32>>)
