// RUN: dash-opt %s -verify-diagnostics -split-input-file

!C = !dash.channel<tensor<128x128xbf16>, index>

// The barrier waits for as many as come.
func.func @expects_the_bytes_of_a_slot(%i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "load" producer warps(1) {
      // expected-error @below {{'dash.mbarrier_expect' op bytes must be 32768, those of the tiles of a slot, got 32772}}
      dash.mbarrier_expect %tiles[%i] bytes(32772) : !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>
!T = memref<?x?x?x128xbf16>

// The index behind the tile is no tile.
func.func @copies_tiles_in(%k: !T, %i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "load" producer warps(1) {
      // expected-error @below {{'dash.copy_in' op element must be a tile of the slot, from 0 to 0, got 1}}
      dash.copy_in %k[%i, %i, %i] to %tiles[%i] element(1) : !T to !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>
!T = memref<?x?x?x128xbf16>

// Nor is it copied out.
func.func @copies_tiles_out(%k: !T, %i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.copy_out' op element must be a tile of the slot, from 0 to 0, got 1}}
      dash.copy_out %tiles[%i] element(1) to %k[%i, %i, %i] : !C to !T
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>

// Nor multiplied.
func.func @names_tiles(%i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.slot_tile' op element must be a tile of the slot, from 0 to 0, got 1}}
      %t = dash.slot_tile %tiles[%i] element(1) : !C -> tensor<128x128xbf16>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>

// What is loaded is the tile.
func.func @loads_factors(%tile: tensor<128x64xbf16>) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.load_factor' op result must be the tile, 128x64 of 'bf16', got 64x128 of 'bf16'}}
      %rows = dash.load_factor %tile : tensor<128x64xbf16> -> tensor<64x128xbf16>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>

// Elements are counted from 0.
func.func @loads_rows(%i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.load_row' op element must be a tile of the slot, from 0 to 0, got -1}}
      %t = dash.load_row %tiles[%i] element(-1) : !C -> tensor<64xf32>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>

// Nor written by all threads.
func.func @stores_tiles(%t: tensor<128x128xbf16>, %i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.store_fragment' op element must be a tile of the slot, from 0 to 0, got 1}}
      dash.store_fragment %t to %tiles[%i] element(1) : tensor<128x128xbf16> to !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>

// Who fills a slot fills all of it.
func.func @writes_all_indices(%i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "load" producer warps(1) {
      // expected-error @below {{'dash.write_indices' op a slot holds 1 indices, got 2}}
      dash.write_indices %i, %i to %tiles[%i] : !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>

// Who reads indices reads all of them.
func.func @reads_all_indices(%i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.read_indices' op a slot holds 1 indices, got 2}}
      %a, %b = dash.read_indices %tiles[%i] : !C -> index, index
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>

// No product is older than all.
func.func @some_products_go_on(%i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.wgmma_wait' op pending must be at least 0, got -1}}
      dash.wgmma_wait pending(-1)
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xbf16>, index>

// The same numbers, later.
func.func @sums_stay_what_they_are(%t: tensor<64x128xf32>) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.wgmma_wait' op results must have the types of the operands, 'tensor<64x128xf32>', got 'tensor<64x64xf32>'}}
      %r = dash.wgmma_wait %t pending(0) : tensor<64x128xf32> -> tensor<64x64xf32>
    }
  }
  return
}

// -----

// Warps sleep, not functions.
func.func @delays_a_role() {
  // expected-error @below {{'dash.delay' op stands inside 'dash.role' only: channels connect roles}}
  dash.delay
  return
}
