// RUN: dash-opt %s -verify-diagnostics -split-input-file

!T = memref<?x?x?x128xbf16>

func.func @rows_are_those_of_a_tile(%q: !T, %k: !T, %v: !T, %m: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op tile must have 64 (q) or 128 (kv) rows, the tiles of its 'dash.items', got 32}}
    %t = dash.load %m[%seq, %kv_head, %kv] : !T -> tensor<32x128xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @columns_are_the_head_dim(%q: !T, %k: !T, %v: !T, %m: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op tile must have at least as many columns as the head dim of the memref, 128, got 64}}
    %t = dash.load %m[%seq, %kv_head, %kv] : !T -> tensor<64x64xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @head_dim_is_static(%q: !T, %k: !T, %v: !T, %m: memref<?x?x?x?xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op tile must have at least as many columns as the head dim of the memref, which must be static}}
    %t = dash.load %m[%seq, %kv_head, %kv] : memref<?x?x?x?xbf16> -> tensor<64x64xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @ranks_fit(%q: !T, %k: !T, %v: !T, %m: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op tile must have rank 2 for a memref of rank 4, got 1}}
    %t = dash.load %m[%seq, %kv_head, %kv] : !T -> tensor<64xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @elements_agree(%q: !T, %k: !T, %v: !T, %m: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op tile must have elements of the memref's type, 'bf16', got 'f16'}}
    %t = dash.load %m[%seq, %kv_head, %kv] : !T -> tensor<64x128xf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @tile_is_static(%q: !T, %k: !T, %v: !T, %m: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op result #0 must be tile: statically shaped 1D/2D tensor of bfloat16 type or 16-bit float or 32-bit float values, but got 'tensor<?x128xbf16>'}}
    %t = dash.load %m[%seq, %kv_head, %kv] : !T -> tensor<?x128xbf16>
  }
  return
}

// -----

func.func @stands_inside_items(%q: memref<?x?x?x128xbf16>, %i: index) {
  // expected-error @below {{'dash.load' op stands inside 'dash.items' only: it works on tiles}}
  %t = dash.load %q[%i, %i, %i] : memref<?x?x?x128xbf16> -> tensor<64x128xbf16>
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @a_task_has_a_kv_tile(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op a tile of a task needs its kv head, its kv tile and the mask: with(%kv_head, %kv_tile) mask(...)}}
    %t = dash.load %ds[%seq, %kv_head, %kv] : memref<?x4096xbf16> -> tensor<128x64xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @a_tensor_has_no_kv_tile_beside(%q: !T, %k: !T, %v: !T) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op a tile of a tensor has no kv head, kv tile and mask beside it}}
    %t = dash.load %k[%seq, %kv_head, %kv] with(%kv_head, %kv) : !T -> tensor<128x128xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @a_task_has_rows_of_both(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op a tile of a task must be 128x64, rows of a kv tile by rows of a q tile, got 64x64}}
    %t = dash.load %ds[%seq, %kv_head, %kv] with(%kv_head, %kv) mask(<full>) : memref<?x4096xbf16> -> tensor<64x64xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @tiles_of_tasks_have_as_many_numbers(%q: !T, %k: !T, %v: !T, %ds: memref<?x64xbf16>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
    // expected-error @below {{'dash.load' op tiles of tasks have 4096 numbers each, got 'memref<?x64xbf16>'}}
    %t = dash.load %ds[%seq, %kv_head, %kv] with(%kv_head, %kv) mask(<full>) : memref<?x64xbf16> -> tensor<128x64xbf16>
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @tiles_of_tasks_are_whole(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 96, kv = 64>) mask(<full>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.load' op tiles of tasks take kv tiles of 64 rows and q tiles of 1, 2, 3 or 6 times as many, got 64x96}}
      %t = dash.load %ds[%seq, %head, %qi] with(%kv_head, %kv) mask(<full>) : memref<?x4096xbf16> -> tensor<64x96xbf16>
    }
  }
  return
}

// -----

!T = memref<?x?x?x128xbf16>

func.func @tiles_of_tasks_have_64_rows_of_k(%q: !T, %k: !T, %v: !T, %ds: memref<?x4096xbf16>) {
  dash.items unscheduled own(q) walk(kv) over(%q, %k, %v : !T, !T, !T)
      tiles(<q = 64, kv = 32>) mask(<full>) level(run) (%seq, %head, %qi) {
    dash.walk (%kv_head, %kv) {
      // expected-error @below {{'dash.load' op tiles of tasks take kv tiles of 64 rows and q tiles of 1, 2, 3 or 6 times as many, got 32x64}}
      %t = dash.load %ds[%seq, %head, %qi] with(%kv_head, %kv) mask(<full>) : memref<?x4096xbf16> -> tensor<32x64xbf16>
    }
  }
  return
}
