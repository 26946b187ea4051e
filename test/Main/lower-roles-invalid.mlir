// RUN: dash-opt %s --dash-lower-roles -verify-diagnostics -split-input-file

// A kernel's branches stand in an entry.
func.func @needs_an_entry() {
  // expected-error @below {{stands in no entry; run --dash-outline-workers first}}
  dash.workers registers(168) shared_bytes(1024) {
    dash.role "load" producer warps(1) registers(24) {
      %body = arith.constant 11 : i32
    }
  }
  return
}

// -----

// Bodies are instructions.
gpu.module @kernels {
  llvm.func @bodies_are_instructions() attributes {dash.entry = #dash.entry<main, always, grid["workers", "1", "1"],
      block[256, 1, 1], cluster[1, 1, 1], shared_bytes = 66560, cooperative = true>} {
    dash.workers registers(168) shared_bytes(1024) {
      dash.role "load" producer warps(1) registers(24) {
        // expected-error @below {{is no instruction yet; run --dash-convert-to-nvvm first}}
        %items = dash.num_items
      }
    }
    llvm.return
  }
}
