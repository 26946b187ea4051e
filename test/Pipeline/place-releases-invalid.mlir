// RUN: dash-opt %s --dash-place-releases -verify-diagnostics -split-input-file

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.role' to place releases in; run --dash-assign-roles first}}
module {
}

// -----

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

// When a slot has been read for the last time is a question of that order.
func.func @needs_an_order_of_issue(%q: !T, %k: !T, %v: !T, %lse: memref<?x?x?xf32>, %sum: memref<?x?x?x128xf32>, %out: !T, %t: tensor<128x128xbf16>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{has no order of issue; run --dash-order-products first}}
        dash.walk (%head, %qi, %turn) {
          %r = dash.matmul %t, transpose %t
            : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
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
!C = !dash.channel<tensor<128x128xbf16>>

// A second release would empty the slot that comes next.
func.func @places_releases_once(%q: !T, %k: !T, %v: !T, %lse: memref<?x?x?xf32>, %sum: memref<?x?x?x128xf32>, %out: !T) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    // expected-error @below {{has releases already}}
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %t = dash.wait %tiles : !C -> tensor<128x128xbf16>
        dash.release %tiles : !C
      }
    }
  }
  return
}

// -----

// Roles are made of items.
func.func @roles_have_items() {
  dash.workers {
    // expected-error @below {{has no 'dash.items' to place releases in; run --dash-assign-roles first}}
    dash.role "compute" consumer warps(4) {
      dash.take_tensor_core
      dash.give_tensor_core
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

// A result leaves through slots that the role fills by itself: this one fills none.
func.func @nothing_to_leave_through(%q: !T, %k: !T, %v: !T, %t: tensor<128x128xf32>, %out: !T, %i: index) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        // expected-error @below {{finds no slot to leave through: expected a channel into which role 'compute' puts tiles of 128 rows of 'bf16', whose columns are a multiple of 16, or from which each warpgroup reads only its own rows of a loaded tile}}
        dash.store %t, %out[%i, %i, %i] : tensor<128x128xf32> -> !T
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
!K = !dash.channel<tensor<128x128xbf16>>

// A result takes no place of a tile whose rows other warpgroups read: here each reads all of K.
func.func @in_place_of_what_others_read(%q: !T, %k: !T, %v: !T, %out: !T, %i: index) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %tile = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %tile into %k_tiles : tensor<128x128xbf16> into !K
      }
    }
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %tile = dash.wait %k_tiles : !K -> tensor<128x128xbf16>
        %t = dash.matmul %tile, transpose %tile split(<2 x 1>) : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        // expected-error @below {{finds no slot to leave through: expected a channel into which role 'compute' puts tiles of 128 rows of 'bf16', whose columns are a multiple of 16, or from which each warpgroup reads only its own rows of a loaded tile}}
        dash.store %t, %out[%i, %i, %i] : tensor<128x128xf32> -> !T
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
!K = !dash.channel<tensor<128x128xbf16>>

// One result takes the place of a tile: the second finds none.
func.func @two_in_one_place(%q: !T, %k: !T, %v: !T, %out: !T, %second: !T, %i: index, %b: tensor<128x128xbf16>) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %tile = dash.load %k[%seq, %kv_head, %kv] : !T -> tensor<128x128xbf16>
        dash.put %tile into %k_tiles : tensor<128x128xbf16> into !K
      }
    }
    dash.role "compute" consumer warps(8) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
        %tile = dash.wait %k_tiles : !K -> tensor<128x128xbf16>
        %t = dash.matmul %tile, %b split(<2 x 1>) : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
        dash.store %t, %out[%i, %i, %i] : tensor<128x128xf32> -> !T
        // expected-error @below {{finds no slot to leave through}}
        dash.store %t, %second[%i, %i, %i] : tensor<128x128xf32> -> !T
      }
    }
  }
  return
}
