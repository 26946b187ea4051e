// RUN: dash-opt %s --dash-read-order -verify-diagnostics -split-input-file

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// Its turns are what is repeated.
func.func @consumers_have_no_walk(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{is a walk of a consumer; run --dash-peel-walks first}}
        dash.walk (%head, %qi, %turn) {
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

// Without the number of steps it could not count uses from item to item.
func.func @consumers_are_told_steps(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !dash.channel<tensor<128x128xbf16>>
    // expected-error @below {{is not told how many steps an item has: expected a channel of each item into which a producer puts 'dash.num_steps'}}
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %k_tiles : !dash.channel<tensor<128x128xbf16>> -> tensor<128x128xbf16>
        dash.release %k_tiles : !dash.channel<tensor<128x128xbf16>>
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

// Only the role that multiplies has sums.
func.func @only_consumers_carry(%q: !T, %k: !T, %v: !T, %zero: tensor<128x128xf32>) {
  dash.workers {
    dash.role "load-q" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{carries values in a role that is no consumer, which none does}}
        %r = dash.walk (%head, %qi, %turn) init(%r0 = %zero) : tensor<128x128xf32> {
          dash.yield %r0 : tensor<128x128xf32>
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
!C = !dash.channel<tensor<64x128xf32>>

// What a walk has made is there behind it.
func.func @own_uses_follow_steps(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    %sums = dash.channel "sums" depth(2) : !C
    dash.role "reduce" reducer warps(2) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{waits in front of the walk for a slot of a channel of steps, whose uses of an item follow its steps}}
        %0 = dash.wait %sums : !C -> tensor<64x128xf32>
        dash.release %sums : !C
        dash.walk (%head, %qi, %turn) {
          %1 = dash.wait %sums : !C -> tensor<64x128xf32>
          dash.release %sums : !C
        }
      }
    }
  }
  return
}
