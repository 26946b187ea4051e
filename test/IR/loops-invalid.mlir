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

// A role draws for its worker.
func.func @workers_draw() {
  // expected-error @below {{'dash.draw_item' op stands inside 'dash.role' only: channels connect roles}}
  %place = dash.draw_item
  return
}

// -----

// The list is a worker's, and roles follow it.
func.func @lists_belong_to_workers() {
  // expected-error @below {{'dash.num_items' op stands inside 'dash.role' only: channels connect roles}}
  %n = dash.num_items
  return
}

// -----

!C = !dash.channel<tensor<64xf32>, index, index>

// One index of the slot for each number.
func.func @reads_the_sequence_again(%x: tensor<128x64xf32>, %i: index) {
  dash.workers {
    %rows = dash.channel "rows" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.hide' op reads 2 numbers again, the kv tile and the sequence, got 1 of their indices}}
      %y = dash.hide %x band(%i, %i) of(%i) again(%rows[%i] indices([0]) : !C) : tensor<128x64xf32>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64xf32>, index, index>

// A batch's sequences have the same rows: the op needs no sequence.
func.func @reads_no_sequence_again(%x: tensor<128x64xf32>, %i: index) {
  dash.workers {
    %rows = dash.channel "rows" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.hide' op reads 1 number again, the kv tile, got 2 of their indices}}
      %y = dash.hide %x band(%i, %i) again(%rows[%i] indices([0, 1]) : !C) : tensor<128x64xf32>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64xf32>, index, index>

// Indices are counted behind the tiles.
func.func @reads_an_index_of_the_slot(%x: tensor<128x64xf32>, %i: index) {
  dash.workers {
    %rows = dash.channel "rows" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.hide' op index must be from 0 to 1, those of the slot, got 2}}
      %y = dash.hide %x band(%i, %i) again(%rows[%i] indices([2]) : !C) : tensor<128x64xf32>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64xf32>, index, index>

// A slot is one of a channel.
func.func @reads_a_channel(%x: tensor<128x64xf32>, %i: index) {
  dash.workers {
    %rows = dash.channel "rows" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.hide' op needs a channel, its slot and indices to read again, or none of them}}
      %y = "dash.hide"(%x, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}> :
        (tensor<128x64xf32>, index, index, index) -> tensor<128x64xf32>
    }
  }
  return
}
