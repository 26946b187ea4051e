// RUN: dash-opt %s --dash-lower-prepare -verify-diagnostics -split-input-file

func.func @not_outlined(%o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %delta: memref<?x?x?xf32>) {
  // expected-error @below {{has no kernels to be part of; run --dash-outline-program first}}
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  return
}

// -----

// Of another's making, or of none.
func.func @attention_bwd(%o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %delta: memref<?x?x?xf32>) {
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  return
}
// expected-error @below {{does not say which program its kernels are of ('dash.program'); run --dash-outline-program to make it}}
gpu.module @attention_bwd_kernels {
}

// -----

// A bitmap is of some rows, and says nothing of others.
func.func @attention_bwd(%o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %delta: memref<?x?x?xf32>) {
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  return
}
// expected-error @below {{rules of a mask are of stated rows, but 'q_rows' or 'kv_rows' is chosen at a launch: make a table, by sizes of --dash-to-ptx}}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <blocks = #dash.blocks<q = 64, kv = 128, bits = dense<1> : tensor<1x1xi1>>>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    sizes[<name = "q_rows", min = 64, max = 64>, <name = "kv_rows", min = 1, max = 128>]
    order <file = "PROGRAM">>} {
}

// -----

// expected-error @below {{takes 'delta', but there is no 'linalg.fill' of the sums of dQ to make the entry of; run --dash-outline-program on what dash-tile makes}}
func.func @attention_bwd(%delta: memref<?x?x?xf32> {dash.name = "delta"}) {
  return
}
