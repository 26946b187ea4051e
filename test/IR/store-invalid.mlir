// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @rows_are_those_of_a_tile(%q: !T, %k: !T, %v: !T, %t: tensor<96x128xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.store' op tile must have 64 (q) or 128 (kv) rows, the tiles of its 'dash.items', got 96}}
    dash.store %t, %q[%seq, %kv_head, %kv] : tensor<96x128xf32> -> !T
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @columns_are_the_head_dim(%q: !T, %k: !T, %v: !T, %t: tensor<64x96xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.store' op tile must have at least as many columns as the head dim of the memref, 128, got 96}}
    dash.store %t, %q[%seq, %kv_head, %kv] : tensor<64x96xf32> -> !T
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @value_is_f32(%q: !T, %k: !T, %v: !T, %t: tensor<64x128xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.store' op operand #0 must be tile: statically shaped 2D tensor of 32-bit float values, but got 'tensor<64x128xbf16>'}}
    dash.store %t, %q[%seq, %kv_head, %kv] : tensor<64x128xbf16> -> !T
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!D = !dash.channel<tensor<64x128xf32>>

func.func @leaves_through_its_rows(%dk: !T, %t: tensor<128x128xf32>, %i: index) {
  dash.workers {
    %tiles = dash.channel "dq" depth(2) : !D
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op leaves through a channel of one tile of 128 rows of 'bf16', whose columns are a multiple of 16, got '!dash.channel<tensor<64x128xf32>>'}}
      dash.store %t, %dk[%i, %i, %i] through %tiles : !D ahead(0) : tensor<128x128xf32> -> !T
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @leaves_through_a_channel(%dk: !T, %t: tensor<128x128xf32>, %i: index) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op leaves through a channel of one tile of 128 rows of 'bf16', whose columns are a multiple of 16, got 'index'}}
      dash.store %t, %dk[%i, %i, %i] through %i : index ahead(0) : tensor<128x128xf32> -> !T
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @numbers_a_use_of_a_channel(%dk: !T, %t: tensor<128x128xf32>, %i: index) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op has the number of a use of no channel}}
      dash.store %t, %dk[%i, %i, %i] use(%i) : tensor<128x128xf32> -> !T
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!D = !dash.channel<tensor<128x40xbf16>>

func.func @leaves_in_whole_pieces(%dk: !T, %t: tensor<128x128xf32>, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(2) : !D
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op leaves through a channel of one tile of 128 rows of 'bf16', whose columns are a multiple of 16, got '!dash.channel<tensor<128x40xbf16>>'}}
      dash.store %t, %dk[%i, %i, %i] through %tiles : !D ahead(0) : tensor<128x128xf32> -> !T
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!D = !dash.channel<tensor<128x0xbf16>>

func.func @leaves_in_pieces_with_columns(%dk: !T, %t: tensor<128x128xf32>, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(2) : !D
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op leaves through a channel of one tile of 128 rows of 'bf16', whose columns are a multiple of 16, got '!dash.channel<tensor<128x0xbf16>>'}}
      dash.store %t, %dk[%i, %i, %i] through %tiles : !D ahead(0) : tensor<128x128xf32> -> !T
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!D = !dash.channel<tensor<128x64xbf16>>

func.func @leaves_through_a_channel_that_is_known(%dk: !T, %t: tensor<128x128xf32>, %i: index, %tiles: !D) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op leaves through a value that no 'dash.channel' makes}}
      dash.store %t, %dk[%i, %i, %i] through %tiles : !D ahead(0) : tensor<128x128xf32> -> !T
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!D = !dash.channel<tensor<128x64xbf16>>

func.func @leaves_through_slots_ahead(%dk: !T, %t: tensor<128x128xf32>, %i: index) {
  dash.workers {
    %tiles = dash.channel "ds" depth(2) : !D
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op ahead must be at least 0, got -3}}
      dash.store %t, %dk[%i, %i, %i] through %tiles : !D ahead(-3) : tensor<128x128xf32> -> !T
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!D = !dash.channel<tensor<128x64xbf16>, tensor<128xf32>>
!S = memref<?x?x?x64xbf16>

func.func @in_place_of_a_narrower_tile(%dk: !T, %t: tensor<128x128xf32>, %i: index, %v: !S) {
  dash.workers {
    %tiles = dash.channel "v" depth(1) : !D
    dash.role "load" producer warps(1) {
      dash.copy_in %v[%i, %i, %i] to %tiles[%i] element(0) : !S to !D
    }
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op leaves through the slot of a loaded tile, of 128 rows of 'bf16' and at least 128 columns, got '!dash.channel<tensor<128x64xbf16>, tensor<128xf32>>'}}
      dash.store %t, %dk[%i, %i, %i] through %tiles : !D ahead(0) : tensor<128x128xf32> -> !T
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>
!D = !dash.channel<tensor<128x128xbf16>, tensor<128xf32>>

func.func @in_place_of_a_tile_ahead(%dk: !T, %t: tensor<128x128xf32>, %i: index, %k: !T) {
  dash.workers {
    %tiles = dash.channel "k" depth(2) : !D
    dash.role "load" producer warps(1) {
      dash.copy_in %k[%i, %i, %i] to %tiles[%i] element(0) : !T to !D
    }
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op leaves through the slot of a loaded tile, which no other is ahead of, got ahead(1)}}
      dash.store %t, %dk[%i, %i, %i] through %tiles : !D ahead(1) : tensor<128x128xf32> -> !T
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @slots_ahead_are_of_a_channel(%dk: !T, %t: tensor<128x128xf32>, %i: index) {
  dash.workers {
    dash.role "compute" consumer warps(8) {
      // expected-error @below {{'dash.store' op has slots ahead of no channel}}
      dash.store %t, %dk[%i, %i, %i] {ahead = 5 : i64} : tensor<128x128xf32> -> !T
    }
  }
  return
}
