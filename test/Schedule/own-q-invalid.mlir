// RUN: rm -rf %t && split-file %s %t

// Kinds, parts, files and what is kept apart are of items that sum across each other.
// RUN: not dash-opt %t/bwd.mlir --dash-tile='split=dq' --dash-apply-schedule='function=f#1 kind=shift sizes=q:300' -o /dev/null 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: bwd.mlir:[[#]]:3: error: schedule 'shift' serves no items that own q tiles: take ascending, longest-first or auto
// RUN: not dash-opt %t/bwd.mlir --dash-tile='split=dq' --dash-apply-schedule='function=f#1 kind=backwards sizes=q:300' -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown schedule 'backwards', expected one of ascending, longest-first or auto
// RUN: not dash-opt %t/bwd.mlir --dash-tile='split=dq' --dash-apply-schedule='function=f#1 parts=2 sizes=q:300,heads:2,kv-heads:1' -o /dev/null 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: items that own q tiles sum nothing across items, so they are in 1 part, got 2
// RUN: not dash-opt %t/bwd.mlir --dash-tile='split=dq' --dash-apply-schedule='function=f#1 apart=all sizes=q:300' -o /dev/null 2>&1 | FileCheck %s --check-prefix=APART
// APART: error: apart=all keeps what is summed across items, and items that own q tiles sum nothing: take apart=none
// RUN: not dash-opt %t/bwd.mlir --dash-tile='split=dq' --dash-apply-schedule='function=f#1 kind=file path=%t/none.json sizes=q:300' -o /dev/null 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: an order file is of items that own kv tiles, got items that own q tiles: take ascending, longest-first or auto
// RUN: not dash-opt %t/bwd.mlir --dash-tile='split=dk' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: expected one of none, dv, dq, found 'dk'

// What is proven of an order by hand.
// RUN: not dash-opt %t/twice.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: 'dash.schedule' op item (sequence 0, head 0, q tile 1) visits kv tile 0 of kv head 0 twice
// RUN: not dash-opt %t/hidden.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=HIDDEN
// HIDDEN: error: 'dash.schedule' op item (sequence 0, head 0, q tile 0) visits kv tile 1 of kv head 0, expected kv tiles 0 to 0 of kv heads 0 to 0
// RUN: not dash-opt %t/item.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=ITEM
// ITEM: error: 'dash.schedule' op formulas give item 0 group 0, q tile 2 and worker 0, expected below 1, 2 and 1
// RUN: not dash-opt %t/turn.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=TURN
// TURN: error: 'dash.schedule' op item (sequence 0, head 0, q tile 0) has turn 1 at kv tile 0 of kv head 0, expected 0 to 0
// RUN: not dash-opt %t/workers.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=WORKERS
// WORKERS: error: 'dash.schedule' op states min_workers(2), but the fewest workers that finish are 1


// A forward has no gradients to split, and its level stays.
// RUN: not dash-opt %t/fwd.mlir --dash-tile='split=dq' -o /dev/null 2>&1 | FileCheck %s --check-prefix=NO-GRADIENTS
// NO-GRADIENTS: fwd.mlir:[[#]]:3: error: has no gradients to split, got 'split=dq'
// RUN: not dash-opt %t/fwd.mlir --dash-tile='slack=20' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SLACK
// SLACK: fwd.mlir:[[#]]:3: error: expected a slack from 0 to 15, got 20.0
// RUN: not dash-opt %t/fwd.mlir --dash-tile='slack=-1' -o /dev/null 2>&1 | FileCheck %s --check-prefix=BELOW
// BELOW: fwd.mlir:[[#]]:3: error: expected a slack from 0 to 15, got -1.0
// RUN: not dash-opt %t/bwd.mlir --dash-tile='slack=2' -o /dev/null 2>&1 | FileCheck %s --check-prefix=NO-SOFTMAX
// NO-SOFTMAX: bwd.mlir:[[#]]:3: error: has no online softmax, got 'slack=2.0': it is an option of 'dash.attention_fwd'
// RUN: not dash-opt %t/fwd.mlir --dash-apply-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=NO-TILES
// NO-TILES: fwd.mlir:[[#]]:3: error: has no tiles to order yet; run --dash-tile first
// RUN: not dash-opt %t/fwd.mlir --dash-tile --dash-apply-schedule='level=machine sizes=q:300' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WEAKER
// WEAKER: fwd.mlir:[[#]]:3: error: level 'machine' is weaker than the problem's, 'row'
// RUN: not dash-opt %t/downward.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=DOWNWARD
// DOWNWARD: error: 'dash.schedule' op level 'row' needs visits upward, but item (sequence 0, head 0, q tile 0) visits kv tile 0 after kv tile 1
// RUN: not dash-opt %t/row-of-kv.mlir --dash-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROW-OF-KV
// ROW-OF-KV: error: 'dash.schedule' op level 'row' needs items that own q tiles

//--- fwd.mlir
!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
func.func @f(%q: !T, %k: !T, %v: !T, %o: !T, %lse: !R) {
  dash.attention_fwd ins(%q, %k, %v : !T, !T, !T) outs(%o, %lse : !T, !R) mask(<causal>) level(row)
  return
}

//--- downward.mlir
dash.schedule @order kind("descending") level(row) parts(1) workers(1) width(1)
    problem(<tiles = <q = 64, kv = 128>, mask = <causal>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>, own = q>)
    cost(<compute = 2.0, reduce = 1.0, latency = 0.5, buffers = 2>)
    order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(q, step) = 1 - step>)

//--- row-of-kv.mlir
dash.schedule @order kind("ascending") level(row) parts(1) workers(1) width(1)
    problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128, head_dim_v = 128,
             sequences = <[128, 256]>>)
    cost(<compute = 2.0, reduce = 1.0, latency = 0.5, buffers = 2>)
    order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(kv, step) = step, turn(kv, q) = kv>)

//--- bwd.mlir
!T = memref<?x?x?x128xbf16>
!R = memref<?x?x?xf32>
func.func @f(%q: !T, %k: !T, %v: !T, %do: !T, %lse: !R, %delta: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, delta = %delta : !T, !T, !T, !T, !R, !R) outs(%dq, %dk, %dv : !T, !T, !T)
      mask(<causal>) level(run)
  return
}

//--- twice.mlir
dash.schedule @twice kind("hand") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 64>, mask = <causal>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 128]>, own = q>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(q, step) = 0>)

//--- hidden.mlir
dash.schedule @hidden kind("hand") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 64>, mask = <causal>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 128]>, own = q>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = 0, visit(q, step) = step + 1 - q>)

//--- item.mlir
dash.schedule @item kind("hand") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 64>, mask = <causal>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 128]>, own = q>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (0, i + 2, i), worker(unit) = 0, visit(q, step) = step>)

//--- turn.mlir
dash.schedule @turn kind("hand") level(run) parts(1) workers(1) width(1)
  problem(<tiles = <q = 64, kv = 64>, mask = <causal>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[64, 64]>, own = q>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.table<items = dense<0> : tensor<1x6xi32>, visits = dense<[[0, 0, 1]]> : tensor<1x3xi32>>)

//--- workers.mlir
dash.schedule @workers kind("hand") level(run) parts(1) workers(2) width(2) min_workers(2)
  problem(<tiles = <q = 64, kv = 64>, mask = <causal>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 128]>, own = q>)
  cost(<compute = 1.0, reduce = 1.0, latency = 0.0, buffers = 1>)
  order(#dash.formulas<item(i) = (0, i, i), worker(unit) = unit mod workers, visit(q, step) = step>)
