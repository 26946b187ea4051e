// RUN: dash-opt %s --dash-distribute-tiles -verify-diagnostics -split-input-file

// Nothing to do is worth a word: a pass was forgotten.
// expected-warning @below {{no 'dash.workers' whose tiles to distribute; run --dash-assign-roles first}}
module {
}

// -----

!K = !dash.channel<tensor<128x128xbf16>>

func.func @half_a_warpgroup() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    // expected-error @below {{a consumer needs whole warpgroups, of 4 warps each, got 6 warps}}
    dash.role "compute" consumer warps(6) {
      %c0 = arith.constant 0 : index
      %k = dash.wait %k_tiles[%c0] : !K -> tensor<128x128xbf16>
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<192x128xbf16>>

// Nothing is decided here: a product that does not say how warpgroups split it has no layout.
func.func @a_product_without_a_split() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %k = dash.wait %k_tiles[%c0] : !K -> tensor<192x128xbf16>
      // expected-error @below {{does not say how warpgroups split it: run --dash-choose-tiling before --dash-tile, or state 'split'}}
      %s = dash.matmul %k, transpose %k : (tensor<192x128xbf16>, tensor<192x128xbf16>) -> tensor<192x192xf32>
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x104xbf16>>

func.func @columns_of_a_slot() {
  dash.workers {
    // expected-error @below {{#dash.swizzled<32> needs rows that are a multiple of 8 and columns that are a multiple of 16, of 16-bit floats, got 128x104 of 'bf16'}}
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %k = dash.wait %k_tiles[%c0] : !K -> tensor<128x104xbf16>
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16>>

// A slot has no registers to go around a loop in.
func.func @slot_around_a_loop(%n: index) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %k = dash.wait %k_tiles[%c0] : !K -> tensor<128x128xbf16>
      // expected-error @below {{uses a tile of a slot, which only products can read; what goes around a loop is read again with 'dash.held'}}
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %k) -> tensor<128x128xbf16> {
        scf.yield %t : tensor<128x128xbf16>
      }
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16>>

func.func @tile_from_outside(%t: tensor<128x128xf32>) {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %k = dash.wait %k_tiles[%c0] : !K -> tensor<128x128xbf16>
      // expected-error @below {{uses a tile from outside of its role, which can only be a constant}}
      %s = dash.matmul %k, transpose %k accumulate(%t) split(<2 x 1>) : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
    }
  }
  return
}

// -----

!DQ = !dash.channel<tensor<64x128xf32>>

func.func @sums_of_nobody(%dq: memref<?x?x?x128xf32>) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(1) : !DQ
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      %t = dash.wait %dq_tiles[%c0] : !DQ -> tensor<64x128xf32>
      // expected-error @below {{adds a tile that no consumer has put into a slot}}
      dash.reduce %t into %dq[%c0, %c0, %c0] : tensor<64x128xf32> into memref<?x?x?x128xf32>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x64xbf16>>

// A tile that no product has to do with says itself who holds it, by its type.
func.func @a_tile_of_no_product(%use: index) {
  dash.workers {
    %tiles = dash.channel "tiles" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{no product says how warpgroups split this tile, 'tensor<128x64xbf16>'}}
      %tile = arith.constant dense<0.0> : tensor<128x64xbf16>
      dash.put %tile into %tiles[%use] : tensor<128x64xbf16> into !C
    }
  }
  return
}

// -----

!Q = !dash.channel<tensor<64x64xbf16>, tensor<64xf32>>
!P = !dash.channel<tensor<64x64xf32>>
!q = tensor<64x64xbf16>
!r = tensor<64xf32>
!s = tensor<64x64xf32>

// What the threads of one role pass, those of another take as it is.
func.func @another_split() {
  dash.workers {
    %q_tiles = dash.channel "q" depth(1) : !Q
    %p_tiles = dash.channel "p" depth(1) : !P
    dash.role "dk" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %q, %r = dash.wait %q_tiles[%c0] : !Q -> !q, !r
      // expected-error @below {{gets what other threads held, in another layout: expected 'tensor<64x64xf32, #dash.fragment<accumulator, columns by 2>>', got 'tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>'}}
      %p = dash.wait %p_tiles[%c0] : !P -> !s
      %dp = dash.matmul %q, transpose %q split(<1 x 2>) : (!q, !q) -> !s
      %ds = dash.score_gradient %p, %dp, %r : (!s, !s, !r) -> !s
    }
    dash.role "dv" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %q, %r = dash.wait %q_tiles[%c0] : !Q -> !q, !r
      %s = dash.matmul %q, transpose %q split(<1 x 1>) : (!q, !q) -> !s
      dash.put %s into %p_tiles[%c0] : !s into !P
    }
  }
  return
}
