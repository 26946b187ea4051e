// RUN: dash-opt %s --dash-convert-to-nvvm -verify-diagnostics -split-input-file

// Parameters are those of an entry.
func.func @needs_an_entry() {
  // expected-error @below {{stands in no entry; run --dash-outline-workers first}}
  dash.workers registers(168) shared_bytes(1024) {
    dash.role "load" producer warps(1) registers(24) {
      %items = dash.num_items
    }
  }
  return
}

// -----

// A warpgroup's part of a tile begins at a constant.
gpu.module @kernels {
  llvm.func @consumers_are_of_one_warpgroup() attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(168) shared_bytes(1024) {
      // expected-error @below {{is of several warpgroups; run --dash-split-warpgroups first}}
      dash.role "compute" consumer warps(8) registers(240) {
        dash.take_tensor_core
      }
    }
    llvm.return
  }
}

// -----

// Each tile needs a layout.
gpu.module @kernels {
  llvm.func @tiles_have_layouts() attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(168) shared_bytes(1024) {
      dash.role "compute0" consumer warps(4) registers(240) warpgroup(0 of 1) {
        // expected-error @below {{gives a tile without a layout, 'tensor<64x64xf32>'; run --dash-distribute-tiles first}}
        %sums = arith.constant dense<0.0> : tensor<64x64xf32>
      }
    }
    llvm.return
  }
}

// -----

// What ops read comes in by parameters.
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
  llvm.func @items_stand_in_the_order(%heads: i32 {dash.parameter = "heads"}, %q_rows: i32 {dash.parameter = "q_rows"},
                                      %kv_rows: i32 {dash.parameter = "kv_rows"})
      attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    // expected-error @below {{stands in an entry without the parameter 'workspace.order'; run --dash-outline-workers first}}
    dash.workers registers(168) shared_bytes(1024) {
      dash.role "load" producer warps(1) registers(24) {
        %items = dash.num_items
      }
    }
    llvm.return
  }
}

// -----

// Memory has a name, by which the entry has its parameters.
gpu.module @attention_bwd_kernels {
  llvm.func @sums_are_tensors() attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    %one = arith.constant 1 : index
    %sums = memref.alloc(%one, %one, %one) : memref<?x?x?x64xf32>
    dash.workers registers(168) shared_bytes(1024) {
      dash.role "reduce" reducer warps(1) registers(24) {
        %turn = arith.constant 0 : index
        // expected-error @below {{works on memory that is no 'dash.tensor'; run --dash-outline-workers first}}
        dash.acquire_turn %sums[%turn, %turn, %turn] turn(%turn) : memref<?x?x?x64xf32>
      }
    }
    llvm.return
  }
}

// -----

!P = tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>
!L = tensor<64xf32, #dash.fragment<per_column, replicated by 2>>

// A consumer has one register for the scale.
gpu.module @kernels {
  llvm.func @one_scale(%scale: f32, %other: f32) attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(168) shared_bytes(1024) {
      dash.role "compute0" consumer warps(4) registers(240) warpgroup(0 of 2) {
        %scores = arith.constant dense<0.0> : !P
        %lse = arith.constant dense<0.0> : !L
        // expected-note @below {{the logarithm before}}
        %log = dash.log_probability %scores, %lse scale(%scale) : !P, !L
        %again = dash.log_probability %scores, %lse scale(%scale) : !P, !L
        // expected-error @below {{has another scale than the logarithm before: a kernel has one for all, a value in front of its workers}}
        %third = dash.log_probability %scores, %lse scale(%other) : !P, !L
      }
    }
    llvm.return
  }
}

// -----

// A descriptor copies panels as slots have them.
#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
gpu.module @kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "ascending",
           level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 132>
    maps[<#q, rows = 64, panels = 1>]
    order <entry = "attention_bwd_order">>} {
  llvm.func @maps_have_the_panels_of_slots(%maps: !llvm.ptr<1> {dash.parameter = "workspace.descriptors"}) attributes {dash.entry = #dash.entry<main, always,
      grid["workers", "1", "1"], block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    %q = dash.tensor #q : memref<?x?x?x64xbf16>
    dash.workers registers(168) shared_bytes(66560) {
      %q_tiles = dash.channel "q" depth(1) at([1024], [8192]) barriers([0, 8]) arrivals([1, 8]) : !dash.channel<tensor<64x64xbf16, #dash.swizzled<32>>>
      dash.role "load" producer warps(1) registers(24) {
        %c0 = arith.constant 0 : index
        // expected-error @below {{copies 'q' (read, tile) in panels of 32 bytes, and 'maps' of its kernels say 128; run --dash-outline-workers to make them agree}}
        dash.copy_in %q[%c0, %c0, %c0] to %q_tiles[%c0] element(0) : memref<?x?x?x64xbf16> to !dash.channel<tensor<64x64xbf16, #dash.swizzled<32>>>
      }
    }
    llvm.return
  }
}

// -----

// Records of some items only stand in a branch.
gpu.module @kernels {
  llvm.func @some_items_have_records() attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(168) shared_bytes(1024) trace(100) trace_every(4) {
      dash.role "load" producer warps(1) registers(24) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %items = dash.num_items
        scf.for %item = %c0 to %items step %c1 {
          // expected-error @below {{is of every item, and its workers have 'trace_every' 4; run --dash-sample-trace first}}
          %at = dash.trace item numbers(%item)
        }
      }
    }
    llvm.return
  }
}

// -----

// Barriers have names, and a block has few of them.
gpu.module @kernels {
  llvm.func @named_barriers() attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[1024, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    // expected-error @below {{has 8 warpgroups that multiply, with 2 named barriers each, but a block has 15: fewer consumers, or fewer rows of tiles}}
    dash.workers registers(64) shared_bytes(1024) {
      dash.role "dv0" consumer warps(4) registers(64) warpgroup(0 of 4) {
        dash.sync_warpgroup
      }
      dash.role "dv1" consumer warps(4) registers(64) warpgroup(1 of 4) {
        dash.sync_warpgroup
      }
      dash.role "dv2" consumer warps(4) registers(64) warpgroup(2 of 4) {
        dash.sync_warpgroup
      }
      dash.role "dv3" consumer warps(4) registers(64) warpgroup(3 of 4) {
        dash.sync_warpgroup
      }
      dash.role "dk0" consumer warps(4) registers(64) warpgroup(0 of 4) {
        dash.sync_warpgroup
      }
      dash.role "dk1" consumer warps(4) registers(64) warpgroup(1 of 4) {
        dash.sync_warpgroup
      }
      dash.role "dk2" consumer warps(4) registers(64) warpgroup(2 of 4) {
        dash.sync_warpgroup
      }
      dash.role "dk3" consumer warps(4) registers(64) warpgroup(3 of 4) {
        dash.sync_warpgroup
      }
    }
    llvm.return
  }
}
