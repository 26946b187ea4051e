// RUN: dash-opt %s --split-input-file --verify-diagnostics --dash-begin-items

!Q = !dash.channel<tensor<64x128xbf16>, index>
func.func @no_loop() {
  dash.workers begins_ahead {
    %q_tiles = dash.channel "q" depth(2) : !Q
    // expected-error @+1 {{has no loop over items; run --dash-read-order first}}
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
    }
  }
  return
}

// -----

!Q = !dash.channel<tensor<64x128xbf16>, index>
func.func @no_product_of_each_item() {
  dash.workers begins_ahead {
    %q_tiles = dash.channel "q" depth(2) : !Q
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      // expected-error @+1 {{begins items ahead, and has no product that each item has: expected walks of a step at least, which --dash-peel-walks makes}}
      scf.for %i = %c0 to %n step %c1 {
        %q, %steps = dash.wait %q_tiles[%i] : !Q -> tensor<64x128xbf16>, index
        dash.release %q_tiles[%i] : !Q
      }
    }
  }
  return
}

// -----

!Q = !dash.channel<tensor<64x128xbf16>, index>
!V = !dash.channel<tensor<64x128xbf16>, index>
func.func @known_too_late() {
  dash.workers begins_ahead {
    %q_tiles = dash.channel "q" depth(2) : !Q
    %v_tiles = dash.channel "v" depth(2) : !V
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      // expected-error @+1 {{begins items ahead, and the first use of the next item is not known before this one ends}}
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%first = %c0) -> (index) {
        %q, %steps = dash.wait %q_tiles[%first] : !Q -> tensor<64x128xbf16>, index
        %s = dash.matmul %q, transpose %q : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x64xf32>
        dash.release %q_tiles[%first] : !Q
        %v, %next = dash.wait %v_tiles[%i] : !V -> tensor<64x128xbf16>, index
        dash.release %v_tiles[%i] : !V
        scf.yield %next : index
      }
    }
  }
  return
}
