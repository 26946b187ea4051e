// RUN: dash-opt %s --dash-finish-program -verify-diagnostics -split-input-file

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// Rows whose rounding was not lowered.
module {
  func.func @attention_bwd(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
    // expected-error @below {{was not lowered: no kernel does what it does}}
    dash.convert %sum to %dq : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
    return
  }
  gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
  }
}

// -----

// An op of another dialect counts as well.
module {
  func.func @attention_bwd(%flag: memref<1xf32>, %one: f32) {
    %at = arith.constant 0 : index
    // expected-error @below {{was not lowered: no kernel does what it does}}
    memref.store %one, %flag[%at] : memref<1xf32>
    return
  }
  gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
  }
}

// -----

module {
  // expected-error @below {{has callers, but becomes kernels that a launcher starts}}
  func.func @attention_bwd() {
    return
  }
  func.func @caller() {
    call @attention_bwd() : () -> ()
    return
  }
  gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
  }
}
