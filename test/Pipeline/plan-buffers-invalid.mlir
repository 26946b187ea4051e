// RUN: dash-opt %s --dash-plan-buffers -verify-diagnostics -split-input-file
// RUN: not dash-opt %s --dash-plan-buffers=target=sm_80 -split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET

// What is not described cannot be planned for.
// TARGET: error: unknown target 'sm_80', expected one of sm_90a

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>
!C = !dash.channel<tensor<128x128xbf16>>

func.func @takes_reasonable_depths(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {

      }
    }
  }
  return
}

// -----

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.workers' to plan; run --dash-assign-roles first}}
module {
}
