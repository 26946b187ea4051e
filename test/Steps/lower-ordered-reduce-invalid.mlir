// RUN: dash-opt %s --dash-lower-ordered-reduce -verify-diagnostics -split-input-file

dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 128,
           head_dim_v = 128, sequences = <[128, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                       visit(kv, step) = step, turn(kv, q) = kv>)
!T = memref<?x?x?x128xbf16>

func.func @items(%q: !T, %k: !T, %v: !T) {
  dash.workers {
    // expected-error @below {{has items that are not loops yet; run --dash-read-order first}}
    dash.role "reduce" reducer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !T, !T, !T)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %head, %kv, %part_turn) {
      }
    }
  }
  return
}

// -----

!DQ = !dash.channel<tensor<64x128xf32>>
!S = memref<?x?x?x128xf32>

func.func @two_uses(%dq: !S) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(1) : !DQ
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      %t = dash.wait %dq_tiles[%c0] : !DQ -> tensor<64x128xf32>
      // expected-error @below {{must be the only use of a tile that a 'dash.wait' of its block gives, with the number of the use}}
      dash.ordered_reduce %t into %dq[%c0, %c0, %c0] turn(%c0) last(%c0) : tensor<64x128xf32> into !S
      dash.ordered_reduce %t into %dq[%c0, %c0, %c0] turn(%c0) last(%c0) : tensor<64x128xf32> into !S
      dash.release %dq_tiles[%c0] : !DQ
    }
  }
  return
}

// -----

!DQ = !dash.channel<tensor<64x128xf32>>
!S = memref<?x?x?x128xf32>

func.func @never_released(%dq: !S) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(1) : !DQ
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      %t = dash.wait %dq_tiles[%c0] : !DQ -> tensor<64x128xf32>
      // expected-error @below {{needs a 'dash.release' of its slot behind it, in its block}}
      dash.ordered_reduce %t into %dq[%c0, %c0, %c0] turn(%c0) last(%c0) : tensor<64x128xf32> into !S
    }
  }
  return
}

// -----

!DQ = !dash.channel<tensor<64x128xf32>>
!S = memref<?x?x?x128xf32>

func.func @which_is_last(%dq: !S) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(1) : !DQ
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      %t = dash.wait %dq_tiles[%c0] : !DQ -> tensor<64x128xf32>
      // expected-error @below {{does not say which turn is the last; run --dash-read-order first}}
      dash.ordered_reduce %t into %dq[%c0, %c0, %c0] turn(%c0) : tensor<64x128xf32> into !S
      dash.release %dq_tiles[%c0] : !DQ
    }
  }
  return
}
