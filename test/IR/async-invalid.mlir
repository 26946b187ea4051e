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
      dash.copy_out %tiles[%i] element(1) to %k[%i, %i, %i] slice(0) : !C to !T
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

// -----

!C = !dash.channel<tensor<64x128xbf16>, tensor<64xf32>>

// A name for memory is a name for all of it.
func.func @names_whole_tiles(%i: index) {
  dash.workers {
    %tiles = dash.channel "q" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.slot_tile' op 'result' must be element 0 of the slot, 'tensor<64x128xbf16>', got 'tensor<64x64xbf16>'}}
      %t = dash.slot_tile %tiles[%i] element(0) : !C -> tensor<64x64xbf16>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x128xbf16>, tensor<64xf32>>

// A row is not read out of the tile beside it.
func.func @loads_rows_of_rows(%i: index) {
  dash.workers {
    %tiles = dash.channel "q" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.load_row' op 'result' must be element 0 of the slot, 'tensor<64x128xbf16>', got 'tensor<64xf32>'}}
      %t = dash.load_row %tiles[%i] element(0) : !C -> tensor<64xf32>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x64xbf16>>

// Sums in f32 do not fit where 16 bits are meant to be.
func.func @stores_what_fits(%t: tensor<128x64xf32>, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.store_fragment' op 'value' must be element 0 of the slot, 'tensor<128x64xbf16>', got 'tensor<128x64xf32>'}}
      dash.store_fragment %t to %tiles[%i] element(0) : tensor<128x64xf32> to !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x128xbf16>>
!T = memref<?x?x?x192xbf16>

// Copies move whole rows: a tile has room for the columns of its memory.
func.func @copies_whole_rows(%q: !T, %i: index) {
  dash.workers {
    %tiles = dash.channel "q" depth(1) : !C
    dash.role "load" producer warps(1) {
      // expected-error @below {{'dash.copy_in' op tile must have at least as many columns as the head dim of the memref, 192, got 128}}
      dash.copy_in %q[%i, %i, %i] to %tiles[%i] element(0) : !T to !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x128xf32>>
!T = memref<?x?x?x128xbf16>

// They do not round, either.
func.func @copies_what_is_there(%dk: !T, %i: index) {
  dash.workers {
    %tiles = dash.channel "k" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.copy_out' op a tile of 'f32' for a memref of 'bf16'}}
      dash.copy_out %tiles[%i] element(0) to %dk[%i, %i, %i] slice(0) : !C to !T
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x128xbf16>>
!T = memref<?x?x?x128xf32>

// Sums are f32, and so is what is added to them.
func.func @adds_sums(%dq: !T, %i: index) {
  dash.workers {
    %tiles = dash.channel "dq" depth(1) : !C
    dash.role "reduce" reducer warps(1) {
      // expected-error @below {{'dash.bulk_add' op a slot must be one tile of 'f32', got '!dash.channel<tensor<64x128xbf16>>'}}
      dash.bulk_add %tiles[%i] into %dq[%i, %i, %i] : !C into !T
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xf32>>
!T = memref<?x?x?x128xf32>

// The first contribution is stored where the others are added.
func.func @stores_sums(%dq: !T, %i: index) {
  dash.workers {
    %tiles = dash.channel "dq" depth(1) : !C
    dash.role "reduce" reducer warps(1) {
      // expected-error @below {{'dash.bulk_store' op tile must have as many columns as the head dim of the memref, 128, got 64}}
      dash.bulk_store %tiles[%i] into %dq[%i, %i, %i] : !C into !T
    }
  }
  return
}

// -----

// A name says what the memory is.
func.func @rows_are_rows() {
  // expected-error @below {{'dash.tensor' op 'lse' must be a memref of rank 3 of 'f32', got 'memref<?x?x?x128xbf16>'}}
  %lse = dash.tensor <"lse", side = q, access = read, kind = log_row, element = f32> : memref<?x?x?x128xbf16>
  return
}

// -----

func.func @sums_are_sums() {
  // expected-error @below {{'dash.tensor' op 'dq' must be a memref of rank 4 of 'f32' with 128 columns, got 'memref<?x?x?x128xbf16>'}}
  %dq = dash.tensor <"dq", side = q, access = sum, kind = tile, element = f32, columns = 128> : memref<?x?x?x128xbf16>
  return
}

// -----

func.func @tiles_are_of_16_bits() {
  // expected-error @below {{'dash.tensor' op 'q' must be a memref of rank 4 of 'bf16' with 128 columns, got 'memref<?x?x?x128xf32>'}}
  %q = dash.tensor <"q", side = q, access = read, kind = tile, element = bf16, columns = 128> : memref<?x?x?x128xf32>
  return
}

// -----

func.func @gradients_are_either() {
  // expected-error @below {{'dash.tensor' op 'dk' must be a memref of rank 4 of 'bf16' with 128 columns, got 'memref<?x?x?x64xbf16>'}}
  %dk = dash.tensor <"dk", side = kv, access = write, kind = tile, element = bf16, columns = 128> : memref<?x?x?x64xbf16>
  return
}

// -----

!C = !dash.channel<tensor<128x64xbf16>>
!T = memref<?x?x?x128xbf16>

// What leaves is as wide as the head; a slot has a slice of it.
func.func @copies_pieces_out(%dk: !T, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.copy_out' op slice must be from 0 to 1, got 2}}
      dash.copy_out %tiles[%i] element(0) to %dk[%i, %i, %i] slice(2) : !C to !T
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x40xbf16>>
!T = memref<?x?x?x128xbf16>

func.func @copies_whole_pieces_out(%dk: !T, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.copy_out' op leaves through slots whose columns are a multiple of 16, got 'tensor<128x40xbf16>'}}
      dash.copy_out %tiles[%i] element(0) to %dk[%i, %i, %i] slice(0) : !C to !T
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x64xbf16>>

func.func @stores_pieces_of_columns(%t: tensor<128x0xbf16>, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.store_fragment' op a slice is of a tile that has columns, got one without}}
      dash.store_fragment %t to %tiles[%i] element(0) slice(0) : tensor<128x0xbf16> to !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128xbf16>>

func.func @stores_pieces_of_tiles(%t: tensor<128xbf16>, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.store_fragment' op a slice is of a tile of rank 2, got 'tensor<128xbf16>'}}
      dash.store_fragment %t to %tiles[%i] element(0) slice(0) : tensor<128xbf16> to !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x64xf32>>
!sums = tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>

func.func @stores_pieces_of_operands(%t: !sums, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(1) : !C
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store_fragment' op a slice is of an operand fragment, got #dash.fragment<accumulator, rows by 2>}}
      dash.store_fragment %t to %tiles[%i] element(0) slice(0) : !sums to !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x64xbf16>>

func.func @stores_pieces(%t: tensor<128x128xbf16>, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.store_fragment' op slice must be from 0 to 1, got 2}}
      dash.store_fragment %t to %tiles[%i] element(0) slice(2) : tensor<128x128xbf16> to !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x64xbf16>>

func.func @stores_pieces_of_its_rows(%t: tensor<64x128xbf16>, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.store_fragment' op 'value' must have the rows and the element type of element 0 of the slot, 'tensor<128x64xbf16>', got 'tensor<64x128xbf16>'}}
      dash.store_fragment %t to %tiles[%i] element(0) slice(0) : tensor<64x128xbf16> to !C
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<128x64xbf16>>

// A full slot is being read.
func.func @borrows_what_is_empty(%i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(1) : !C
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.mbarrier_wait' op a slot is borrowed while it is empty, and this waits until it is full}}
      dash.mbarrier_wait %tiles full[%i] phase(%i) borrows : !C
    }
  }
  return
}

// -----

func.func @traces_three_numbers(%n: index) {
  dash.workers trace(100) {
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.trace' op has room for 2 numbers, got 3}}
      %t = dash.trace item numbers(%n, %n, %n)
    }
  }
  return
}

// -----

func.func @begins_with_a_number(%n: index) {
  dash.workers trace(100) {
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.trace' op 'begin' is of nothing, and has no time before and no numbers}}
      %t = dash.trace begin numbers(%n)
    }
  }
  return
}

// -----

func.func @ends_with_two_numbers(%n: index) {
  dash.workers trace(100) {
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.trace' op 'end' is of nothing, and has no time before and at most the number of items}}
      %t = dash.trace end numbers(%n, %n)
    }
  }
  return
}

// -----

func.func @traces_nowhere() {
  dash.workers {
    dash.role "compute" consumer warps(4) {
      // expected-error @below {{'dash.trace' op its workers keep no trace: they have no number of records}}
      %t = dash.trace begin
    }
  }
  return
}

// -----

func.func @traces_one_in_none() {
  // expected-error @below {{'dash.workers' op 'trace_every' must be from 1 to 1048576, got 0}}
  dash.workers trace(100) trace_every(0) {
    dash.role "compute" consumer warps(4) {
    }
  }
  return
}

// -----

func.func @keeps_two_records() {
  // expected-error @below {{'dash.workers' op 'trace' must be from 3 to 16777216, got 2}}
  dash.workers trace(2) {
    dash.role "compute" consumer warps(4) {
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xf32, #dash.fragment<accumulator, rows by 1>>>

// What is loaded is the tile of the slot, with every register in its place.
func.func @loads_another_layout(%i: index) {
  dash.workers {
    %tiles = dash.channel "p" depth(1) : !C
    dash.role "dk" consumer warps(8) {
      // expected-error @below {{'dash.load_fragment' op 'result' must have the layout of the slot's tile, #dash.fragment<accumulator, rows by 1>, got #dash.fragment<accumulator, columns by 2>}}
      %t = dash.load_fragment %tiles[%i] element(0) : !C -> tensor<64x64xf32, #dash.fragment<accumulator, columns by 2>>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xf32>>

func.func @loads_another_shape(%i: index) {
  dash.workers {
    %tiles = dash.channel "p" depth(1) : !C
    dash.role "dk" consumer warps(4) {
      // expected-error @below {{'dash.load_fragment' op 'result' must be element 0 of the slot, 'tensor<64x64xf32>', got 'tensor<64x128xf32>'}}
      %t = dash.load_fragment %tiles[%i] element(0) : !C -> tensor<64x128xf32>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xf32>>

func.func @loads_another_element(%i: index) {
  dash.workers {
    %tiles = dash.channel "p" depth(1) : !C
    dash.role "dk" consumer warps(4) {
      // expected-error @below {{'dash.load_fragment' op element must be a tile of the slot, from 0 to 0, got 1}}
      %t = dash.load_fragment %tiles[%i] element(1) : !C -> tensor<64x64xf32>
    }
  }
  return
}

// -----

!C = !dash.channel<tensor<64x64xbf16>>

// Products read a tile of 16 bits where it is.
func.func @loads_a_factor(%i: index) {
  dash.workers {
    %tiles = dash.channel "q" depth(1) : !C
    dash.role "dk" consumer warps(4) {
      // expected-error @below {{'dash.load_fragment' op threads read what threads have put: expected a tile of 'f32', got 'tensor<64x64xbf16>'}}
      %t = dash.load_fragment %tiles[%i] element(0) : !C -> tensor<64x64xbf16>
    }
  }
  return
}
