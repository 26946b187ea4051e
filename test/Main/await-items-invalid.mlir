// RUN: dash-opt %s --split-input-file --verify-diagnostics --dash-await-items

!Q = !dash.channel<tensor<64x128xbf16>, index, index, index, index>
func.func @no_loop() {
  dash.workers begins_ahead {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 4]) : !Q
    // expected-error @+1 {{has no loop over items; run --dash-read-order first}}
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
    }
  }
  return
}

// -----

!Q = !dash.channel<tensor<64x128xbf16>, index, index, index, index>
func.func @is_told_nothing() {
  dash.workers begins_ahead {
    %q_tiles = dash.channel "q" depth(2) arrivals([1, 4]) : !Q
    dash.role "compute" consumer warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = dash.num_items
      // expected-error @+1 {{carries no number of steps, which says where items end; run --dash-begin-items first}}
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%use = %c0) -> (index) {
        scf.yield %use : index
      }
    }
  }
  return
}
