// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

// Each column of S is a query.
func.func @a_number_for_each_query(%s: tensor<128x64xf32>, %l: tensor<128xf32>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.log_probability' op 'lse' must have 64 elements, one for each column of the scores, got 128}}
      %p = dash.log_probability %s, %l : tensor<128x64xf32>, tensor<128xf32>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64xf32>>

// Nothing but what lies there.
func.func @holds_tiles_of_a_slot(%i: index) {
  dash.workers {
    %rows = dash.channel "rows" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.held' op tiles must be those of a slot of '!dash.channel<tensor<64xf32>>', got 'tensor<64x128xbf16>'}}
      %t = dash.held %rows[%i] : !C -> tensor<64x128xbf16>
    }
  }
  return
}

// -----

// The list is a worker's, and roles follow it.
func.func @lists_belong_to_workers() {
  // expected-error @below {{'dash.num_items' op stands inside 'dash.role' only: channels connect roles}}
  %n = dash.num_items
  return
}
