// RUN: dash-opt %s --dash-hoist-stores -verify-diagnostics

!DSCh = !dash.channel<tensor<128x64xbf16>>

// Whether a slot is empty is a question of the number of its use.
func.func @which_slot(%sum: tensor<128x64xf32>, %dv: memref<?x?x?x64xbf16>) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(4) : !DSCh
    dash.role "compute" consumer warps(8) {
      %c0 = arith.constant 0 : index
      // expected-error @below {{has no number of its use; run --dash-read-order first}}
      dash.store %sum, %dv[%c0, %c0, %c0] through %ds_tiles : !DSCh ahead(0) : tensor<128x64xf32> -> memref<?x?x?x64xbf16>
    }
  }
  return
}
