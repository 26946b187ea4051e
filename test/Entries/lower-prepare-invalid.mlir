// RUN: dash-opt %s --dash-lower-prepare -verify-diagnostics -split-input-file

#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#delta = #dash.tensor_role<"delta", side = q, access = read, kind = row, element = f32>
func.func @not_outlined(%o: memref<?x?x?x64xbf16> {dash.tensor = #o}, %do: memref<?x?x?x64xbf16> {dash.tensor = #do}, %delta: memref<?x?x?xf32> {dash.tensor = #delta}) {
  // expected-error @below {{has no kernels to be part of; run --dash-outline-program first}}
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  return
}

// -----

#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#delta = #dash.tensor_role<"delta", side = q, access = read, kind = row, element = f32>
// Memory made elsewhere, or not made at all.
func.func @attention_bwd(%o: memref<?x?x?x64xbf16> {dash.tensor = #o}, %do: memref<?x?x?x64xbf16> {dash.tensor = #do}, %delta: memref<?x?x?xf32> {dash.tensor = #delta}) {
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  return
}
// expected-error @below {{does not say which program its kernels are of ('dash.program'); run --dash-outline-program to make it}}
gpu.module @attention_bwd_kernels {
}

// -----

#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
#delta = #dash.tensor_role<"delta", side = q, access = read, kind = row, element = f32>
// A bitmap is of some rows, and says nothing of others.
func.func @attention_bwd(%o: memref<?x?x?x64xbf16> {dash.tensor = #o}, %do: memref<?x?x?x64xbf16> {dash.tensor = #do}, %delta: memref<?x?x?xf32> {dash.tensor = #delta}) {
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

#delta = #dash.tensor_role<"delta", side = q, access = read, kind = row, element = f32>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// expected-error @below {{takes delta, but there is no 'linalg.fill' of the sums of dQ to make the entry of; run --dash-outline-program on what dash-tile makes}}
func.func @attention_bwd(%delta: memref<?x?x?xf32> {dash.tensor = #delta}) {
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    tensors[<#dq, shape["batch", "heads", "q_rows", "64"], alignment = 16, stride_multiple = 8>]
    order <entry = "attention_bwd_order">>} {
}

// -----

// Which rows are LSE the program says, and what is summed.
#o = #dash.tensor_role<"o", side = q, access = read, kind = tile, element = bf16, columns = 64>
#do = #dash.tensor_role<"do", side = q, access = read, kind = tile, element = bf16, columns = 64>
func.func @attention_bwd(%o: memref<?x?x?x64xbf16> {dash.tensor = #o}, %do: memref<?x?x?x64xbf16> {dash.tensor = #do}, %delta: memref<?x?x?xf32>) {
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  return
}
// expected-error @below {{expected 'tensors' of 'dash.program' with a log_row; run --dash-outline-program to make it}}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
}

// -----

#lse = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
func.func @attention_bwd(%o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %delta: memref<?x?x?xf32>) {
  // expected-error @below {{reads memory without a '#dash.tensor_role': expected arguments with 'dash.tensor', as --dash-tile leaves them}}
  dash.delta ins(%o, %do : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) outs(%delta : memref<?x?x?xf32>)
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    tensors[<#lse, shape["batch", "heads", "q_rows"], alignment = 4, stride_multiple = 1>, <#dq, shape["batch", "heads", "rows", "64"], alignment = 16, stride_multiple = 8>]
    order <entry = "attention_bwd_order">>} {
}
