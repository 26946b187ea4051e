// RUN: dash-opt %s --dash-outline-workers -verify-diagnostics -split-input-file

// The module of kernels is what the entry goes to.
func.func @needs_a_module_of_kernels() {
  // expected-error @below {{has no kernels to be part of; run --dash-outline-program first}}
  dash.workers registers(168) shared_bytes(66560) {
    dash.role "load" producer warps(1) registers(24) {
      %n = dash.num_items
    }
  }
  return
}

// -----

// It says what they are kernels of.
func.func @kernels_say_whose_they_are() {
  dash.workers registers(168) shared_bytes(66560) {
    dash.role "load" producer warps(1) registers(24) {
      %n = dash.num_items
    }
  }
  return
}
// expected-error @below {{does not say which program its kernels are of ('dash.program'); run --dash-outline-program to make it}}
gpu.module @kernels_say_whose_they_are_kernels {
}

// -----

// Buffers are planned: registers and shared memory,
func.func @workers_have_a_plan() {
  // expected-error @below {{has no plan of registers and shared memory; run --dash-plan-buffers first}}
  dash.workers {
    dash.role "load" producer warps(1) registers(24) {
      %n = dash.num_items
    }
  }
  return
}
gpu.module @workers_have_a_plan_kernels attributes {dash.program = #dash.program<"workers_have_a_plan"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "workers_have_a_plan_order">>} {
}

// -----

// the place of each slot,
func.func @channels_have_places() {
  dash.workers registers(168) shared_bytes(66560) {
    // expected-error @below {{has no place in shared memory; run --dash-plan-buffers first}}
    %tiles = dash.channel "q" depth(1) : !dash.channel<tensor<64x128xbf16>>
    dash.role "load" producer warps(1) registers(24) {
      %n = dash.num_items
    }
  }
  return
}
gpu.module @channels_have_places_kernels attributes {dash.program = #dash.program<"channels_have_places"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "channels_have_places_order">>} {
}

// -----

// the registers of each role.
func.func @roles_have_registers() {
  dash.workers registers(168) shared_bytes(66560) {
    // expected-error @below {{has no registers; run --dash-plan-buffers first}}
    dash.role "load" producer warps(1) {
      %n = dash.num_items
    }
  }
  return
}
gpu.module @roles_have_registers_kernels attributes {dash.program = #dash.program<"roles_have_registers"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "roles_have_registers_order">>} {
}

// -----

// Who arrives is known.
func.func @channels_have_arrivals() {
  dash.workers registers(168) shared_bytes(66560) {
    // expected-error @below {{does not say how many arrive; run --dash-insert-waits first}}
    %tiles = dash.channel "q" depth(1) at([1024], [16384]) barriers([0, 8]) : !dash.channel<tensor<64x128xbf16>>
    dash.role "load" producer warps(1) registers(24) {
      %n = dash.num_items
    }
  }
  return
}
gpu.module @channels_have_arrivals_kernels attributes {dash.program = #dash.program<"channels_have_arrivals"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "channels_have_arrivals_order">>} {
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
// Descriptors are of tensors with roles.
func.func @memory_has_a_name(%q: memref<?x?x?x128xbf16>) {
  %zero = arith.constant 0 : index
  dash.workers registers(168) shared_bytes(66560) {
    %tiles = dash.channel "q" depth(1) at([1024], [16384]) barriers([0, 8]) arrivals([1, 1])
      : !dash.channel<tensor<64x128xbf16>>
    dash.role "load" producer warps(1) registers(24) {
      // expected-error @below {{expected a tile that has a descriptor, got memory without a '#dash.tensor_role' ('dash.tensor'); run --dash-tile to put it on arguments}}
      dash.copy_in %q[%zero, %zero, %zero] to %tiles[%zero] element(0)
        : memref<?x?x?x128xbf16> to !dash.channel<tensor<64x128xbf16>>
    }
  }
  return
}
gpu.module @memory_has_a_name_kernels attributes {dash.program = #dash.program<"memory_has_a_name"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "memory_has_a_name_order">>} {
}

// -----

#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 128>
// Copies are by descriptors that the program has.
func.func @outputs_are_not_read(%q: memref<?x?x?x128xbf16> {dash.tensor = #dk}) {
  %zero = arith.constant 0 : index
  dash.workers registers(168) shared_bytes(66560) {
    %tiles = dash.channel "q" depth(1) at([1024], [16384]) barriers([0, 8]) arrivals([1, 1])
      : !dash.channel<tensor<64x128xbf16>>
    dash.role "load" producer warps(1) registers(24) {
      // expected-error @below {{expected a tile that has a descriptor, got 'dk' (write, tile)}}
      dash.copy_in %q[%zero, %zero, %zero] to %tiles[%zero] element(0)
        : memref<?x?x?x128xbf16> to !dash.channel<tensor<64x128xbf16>>
    }
  }
  return
}
gpu.module @outputs_are_not_read_kernels attributes {dash.program = #dash.program<"outputs_are_not_read"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "outputs_are_not_read_order">>} {
}

// -----

// Nothing else of the function is known to a kernel.
func.func @numbers_are_constants_or_the_scale(%number: index) {
  // expected-error @below {{uses a value of the function that is neither a tensor with a role, a number with one nor a constant, of type 'index'}}
  dash.workers registers(168) shared_bytes(66560) {
    dash.role "load" producer warps(1) registers(24) {
      %next = arith.addi %number, %number : index
    }
  }
  return
}
gpu.module @numbers_are_constants_or_the_scale_kernels attributes {dash.program = #dash.program<"numbers_are_constants_or_the_scale"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "numbers_are_constants_or_the_scale_order">>} {
}

// -----

// Main kernels know tensors by their roles.
func.func @tensors_are_known(%o: memref<?x?x?x128xbf16>) {
  // expected-error @below {{uses a value of the function that is neither a tensor with a role, a number with one nor a constant, of type 'memref<?x?x?x128xbf16>'}}
  dash.workers registers(168) shared_bytes(66560) {
    dash.role "load" producer warps(1) registers(24) {
      %zero = arith.constant 0 : index
      %tile = dash.load %o[%zero, %zero, %zero] : memref<?x?x?x128xbf16> -> tensor<64x128xbf16>
    }
  }
  return
}
gpu.module @tensors_are_known_kernels attributes {dash.program = #dash.program<"tensors_are_known"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "tensors_are_known_order">>} {
}

// -----

// Sums have the name of what they are rounded into.
func.func @sums_are_rounded(%rows: index) {
  %sum = memref.alloc(%rows, %rows, %rows) : memref<?x?x?x128xf32>
  %zero = arith.constant 0 : index
  dash.workers registers(168) shared_bytes(33792) {
    %tiles = dash.channel "dq" depth(1) at([1024], [32768]) barriers([16, 24]) arrivals([8, 1]) : !dash.channel<tensor<64x128xf32>>
    dash.role "reduce" reducer warps(1) registers(24) {
      // expected-error @below {{expected sums that kernels have a region for, got sums that no 'dash.convert' rounds to an argument with 'dash.tensor'}}
      dash.bulk_add %tiles[%zero] into %sum[%zero, %zero, %zero] : !dash.channel<tensor<64x128xf32>> into memref<?x?x?x128xf32>
    }
  }
  return
}
gpu.module @sums_are_rounded_kernels attributes {dash.program = #dash.program<"sums_are_rounded"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    order <entry = "sums_are_rounded_order">>} {
}

// -----

// A descriptor has one width of panels.
#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>
!T = memref<?x?x?x128xbf16>
!CQ = !dash.channel<tensor<64x128xbf16, #dash.swizzled>>
!CN = !dash.channel<tensor<64x128xbf16, #dash.swizzled<64>>>
func.func @slots_of_a_tensor_are_alike(%q: !T {dash.tensor = #q}) {
  %zero = arith.constant 0 : index
  dash.workers registers(168) shared_bytes(33792) {
    %q_tiles = dash.channel "q" depth(1) at([1024], [16384]) barriers([0, 8]) arrivals([1, 8]) : !CQ
    %n_tiles = dash.channel "n" depth(1) at([17408], [16384]) barriers([16, 24]) arrivals([1, 8]) : !CN
    dash.role "load-q" producer warps(1) registers(24) {
      dash.copy_in %q[%zero, %zero, %zero] to %q_tiles[%zero] element(0) : !T to !CQ
      // expected-error @below {{copies 'q' (read, tile) in panels of 64 bytes, and another op in panels of 128: one descriptor serves both, so lay out their slots alike}}
      dash.copy_in %q[%zero, %zero, %zero] to %n_tiles[%zero] element(0) : !T to !CN
    }
  }
  return
}
gpu.module @slots_of_a_tensor_are_alike_kernels attributes {dash.program = #dash.program<"slots_of_a_tensor_are_alike"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>,
           kind = "shift", level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 2>
    maps[<#q, rows = 64, panels = 2>]
    order <entry = "slots_of_a_tensor_are_alike_order">>} {
}
