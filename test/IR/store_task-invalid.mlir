// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x192xbf16>

func.func @tiles_have_64_rows(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
  %t = arith.constant dense<0.0> : tensor<128x64xbf16>
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) {
      // expected-error @below {{'dash.store_task' op tiles of tasks take kv tiles of 64 rows and q tiles of 1, 2, 3 or 6 times as many, got 128x64}}
      dash.store_task %t, %ds[%seq, %head, %qi] with(%kv_head, %kv) : tensor<128x64xbf16> -> memref<?x4096xbf16>
    }
  }
  return
}

// -----

!T = memref<?x?x?x192xbf16>

func.func @as_many_numbers(%q: !T, %k: !T, %v: !T, %ds: memref<?x64xbf16>) {
  %t = arith.constant dense<0.0> : tensor<64x64xbf16>
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 64>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) {
      // expected-error @below {{'dash.store_task' op tiles of tasks have 4096 numbers each, got 'memref<?x64xbf16>'}}
      dash.store_task %t, %ds[%seq, %head, %qi] with(%kv_head, %kv) : tensor<64x64xbf16> -> memref<?x64xbf16>
    }
  }
  return
}

// -----

!T = memref<?x?x?x192xbf16>

func.func @of_the_type_of_the_memory(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
  %t = arith.constant dense<0.0> : tensor<64x64xf16>
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 64>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) {
      // expected-error @below {{'dash.store_task' op tile must have elements of the memref's type, 'bf16', got 'f16'}}
      dash.store_task %t, %ds[%seq, %head, %qi] with(%kv_head, %kv) : tensor<64x64xf16> -> memref<?x4096xbf16>
    }
  }
  return
}

// -----

func.func @inside_items(%ds: memref<?x4096xbf16>, %at: index) {
  %t = arith.constant dense<0.0> : tensor<64x64xbf16>
  // expected-error @below {{'dash.store_task' op stands inside 'dash.items' only: it works on tiles}}
  dash.store_task %t, %ds[%at, %at, %at] with(%at, %at) : tensor<64x64xbf16> -> memref<?x4096xbf16>
  return
}

// -----

!D = !dash.channel<tensor<64x64xf32>>

func.func @copies_rounded_tiles(%ds: memref<?x4096xbf16>, %at: index) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) : !D
    dash.role "keep" reducer warps(1) {
      // expected-error @below {{'dash.copy_task_out' op a slot must be one tile of 64x64 numbers of 'bf16', got '!dash.channel<tensor<64x64xf32>>'}}
      dash.copy_task_out %ds_tiles[%at] to %ds[%at, %at, %at] with(%at, %at) : !D to memref<?x4096xbf16>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @one_tile_at_a_time(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
  %t = arith.constant dense<0.0> : tensor<64x128xbf16>
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 128, kv = 64>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    dash.walk (%head, %qi) {
      // expected-error @below {{'dash.store_task' op a tile of a task must be 64x64, rows of a kv tile by rows of a q tile, got 64x128}}
      dash.store_task %t, %ds[%seq, %head, %qi] with(%kv_head, %kv) : tensor<64x128xbf16> -> memref<?x4096xbf16>
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<32x128xbf16>>

func.func @copies_whole_tiles(%ds: memref<?x4096xbf16>, %at: index) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) : !D
    dash.role "keep" reducer warps(1) {
      // expected-error @below {{'dash.copy_task_out' op a slot must be one tile of 64x64 numbers of 'bf16', got '!dash.channel<tensor<32x128xbf16>>'}}
      dash.copy_task_out %ds_tiles[%at] to %ds[%at, %at, %at] with(%at, %at) : !D to memref<?x4096xbf16>
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x64xbf16>>

func.func @into_memory_of_tiles(%ds: memref<?x64xbf16>, %at: index) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) : !D
    dash.role "keep" reducer warps(1) {
      // expected-error @below {{'dash.copy_task_out' op tiles of tasks have 4096 numbers each, got 'memref<?x64xbf16>'}}
      dash.copy_task_out %ds_tiles[%at] to %ds[%at, %at, %at] with(%at, %at) : !D to memref<?x64xbf16>
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<64x128xbf16>, index>

func.func @copies_in_where_a_tile_lies(%ds: memref<?x4096xbf16>, %at: index) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) : !D
    dash.role "load" producer warps(1) {
      // expected-error @below {{'dash.copy_in' op a tile of a task needs its kv head, its kv tile and the mask: with(%kv_head, %kv_tile) mask(...)}}
      dash.copy_in %ds[%at, %at, %at] with(%at) to %ds_tiles[%at] element(0) : memref<?x4096xbf16> to !D
    }
  }
  return
}

// -----

!D = !dash.channel<tensor<128x128xbf16>, index>

func.func @copies_in_tiles_of_64_rows(%ds: memref<?x4096xbf16>, %at: index) {
  dash.workers {
    %ds_tiles = dash.channel "ds" depth(1) : !D
    dash.role "load" producer warps(1) {
      // expected-error @below {{'dash.copy_in' op tiles of tasks take kv tiles of 64 rows and q tiles of 1, 2, 3 or 6 times as many, got 128x128}}
      dash.copy_in %ds[%at, %at, %at] with(%at, %at) mask(<full>) to %ds_tiles[%at] element(0) : memref<?x4096xbf16> to !D
    }
  }
  return
}
