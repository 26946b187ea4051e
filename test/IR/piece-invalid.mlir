// RUN: dash-opt %s -verify-diagnostics -split-input-file

// Pieces are as large as each other.
func.func @rows_are_divided(%tile: tensor<128x128xf32>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.piece' op cuts tiles by rows: 128x128 is no multiple of 96x128}}
      %0 = dash.piece %tile[0] : tensor<128x128xf32> to tensor<96x128xf32>
    }
  }
  return
}

// -----

// Two pieces of 64 rows make a tile of 128.
func.func @piece_is_there(%tile: tensor<128x128xf32>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.piece' op piece must be from 0 to 1, got 2}}
      %0 = dash.piece %tile[2] : tensor<128x128xf32> to tensor<64x128xf32>
    }
  }
  return
}

// -----

#rows = #dash.fragment<accumulator, rows by 2>
#columns = #dash.fragment<accumulator, columns by 4>

// No number moves between threads.
func.func @warpgroups_keep_their_rows(%tile: tensor<128x128xf32, #rows>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.piece' op each warpgroup must hold the rows of one block: #dash.fragment<accumulator, rows by 2> does not give #dash.fragment<accumulator, columns by 4>}}
      %0 = dash.piece %tile[0] : tensor<128x128xf32, #rows> to tensor<64x128xf32, #columns>
    }
  }
  return
}
