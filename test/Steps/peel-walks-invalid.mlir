// RUN: dash-opt %s --dash-peel-walks -verify-diagnostics -split-input-file

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// A role that reads the order would count; a consumer has to be told.
func.func @needs_a_number_of_steps(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{has stages, but is not told how many steps it has: expected 'steps(%n)', which --dash-assign-roles gives}}
        dash.walk (%head, %qi, %turn) stages(1) {
        }
      }
    }
  }
  return
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// What a step hands on has to come from it: a value of the step before would have no place in a turn.
func.func @steps_yield_their_own(%q: !T, %k: !T, %v: !T, %zero: tensor<128x128xf32>, %steps: index) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> steps(%steps) stages(1) {
          // expected-error @below {{yields a value that its step does not make, which has no version to peel}}
          dash.yield %r0 : tensor<128x128xf32>
        }
      }
    }
  }
  return
}
