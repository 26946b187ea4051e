// RUN: dash-opt %s --dash-insert-waits -verify-diagnostics -split-input-file

!DQ = !dash.channel<tensor<64x128xf32>>

func.func @which_use() {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(1) : !DQ
    dash.role "reduce" reducer warps(1) {
      // expected-error @below {{has no number of its use; run --dash-read-order first}}
      %t = dash.wait %dq_tiles : !DQ -> tensor<64x128xf32>
      dash.release %dq_tiles : !DQ
    }
  }
  return
}

// -----

!K = !dash.channel<tensor<128x128xbf16>>

func.func @no_layouts() {
  dash.workers {
    %k_tiles = dash.channel "k" depth(1) : !K
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %k = dash.wait %k_tiles[%c0] : !K -> tensor<128x128xbf16>
      // expected-error @below {{works on tiles without layouts; run --dash-distribute-tiles first}}
      %s = dash.matmul %k, transpose %k : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xf32>
    }
  }
  return
}

// -----

!DQ = !dash.channel<tensor<64x128xf32>>

func.func @adds_a_tile(%dq: memref<?x?x?x128xf32>) {
  dash.workers {
    %dq_tiles = dash.channel "dq" depth(1) : !DQ
    dash.role "reduce" reducer warps(1) {
      %c0 = arith.constant 0 : index
      // expected-error @below {{gives a tile to a role that has no registers for it; run --dash-lower-ordered-reduce first}}
      %t = dash.wait %dq_tiles[%c0] : !DQ -> tensor<64x128xf32>
      dash.reduce %t into %dq[%c0, %c0, %c0] : tensor<64x128xf32> into memref<?x?x?x128xf32>
      dash.release %dq_tiles[%c0] : !DQ
    }
  }
  return
}

// -----

!sums = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>

func.func @through_nothing(%dv: memref<?x?x?x128xbf16>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : !sums
      // expected-error @below {{has no slots to leave through; run --dash-place-releases first}}
      dash.store %zero, %dv[%c0, %c0, %c0] : !sums -> memref<?x?x?x128xbf16>
    }
  }
  return
}

// -----

!DS = !dash.channel<tensor<128x64xbf16>>
!sums = tensor<128x128xf32, #dash.fragment<accumulator, rows by 2>>

func.func @through_which_slot(%dv: memref<?x?x?x128xbf16>) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !DS
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : !sums
      // expected-error @below {{has no number of its use; run --dash-read-order first}}
      dash.store %zero, %dv[%c0, %c0, %c0] through %ds_tiles : !DS ahead(0) : !sums -> memref<?x?x?x128xbf16>
    }
  }
  return
}

// -----

!DS = !dash.channel<tensor<64x64xbf16>>
!sums = tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>

func.func @by_rows(%dv: memref<?x?x?x128xbf16>) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(2) : !DS
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : !sums
      // expected-error @below {{leaves by rows of a warpgroup: expected sums that are split so, got 'tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>'}}
      dash.store %zero, %dv[%c0, %c0, %c0] through %ds_tiles : !DS ahead(0) use(%c0) : !sums -> memref<?x?x?x128xbf16>
    }
  }
  return
}
