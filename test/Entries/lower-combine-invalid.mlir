// RUN: dash-opt %s --dash-lower-combine -verify-diagnostics -split-input-file

#o = #dash.tensor_role<"o", side = q, access = write, kind = tile, element = bf16, columns = 40, width = 48>
#lse = #dash.tensor_role<"lse", side = q, access = write, kind = log_row, element = f32>
#o_pieces = #dash.tensor_role<"o", side = q, access = sum, kind = tile, element = f32, columns = 48>
#lse_pieces = #dash.tensor_role<"lse", side = q, access = sum, kind = log_row, element = f32>
func.func @not_outlined(%op: memref<?x?x?x48xf32> {dash.tensor = #o_pieces}, %lp: memref<?x?x?xf32> {dash.tensor = #lse_pieces}, %o: memref<?x?x?x40xbf16> {dash.tensor = #o}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}) {
  // expected-error @below {{has no kernels to be part of; run --dash-outline-program first}}
  dash.combine %op, %lp into %o, %lse cut(2048) : memref<?x?x?x48xf32>, memref<?x?x?xf32> into memref<?x?x?x40xbf16>, memref<?x?x?xf32>
  return
}

// -----

#o = #dash.tensor_role<"o", side = q, access = write, kind = tile, element = bf16, columns = 40, width = 48>
#lse = #dash.tensor_role<"lse", side = q, access = write, kind = log_row, element = f32>
#o_pieces = #dash.tensor_role<"o", side = q, access = sum, kind = tile, element = f32, columns = 48>
#lse_pieces = #dash.tensor_role<"lse", side = q, access = sum, kind = log_row, element = f32>
// Its kernels walk other pieces.
func.func @attention_fwd(%op: memref<?x?x?x48xf32> {dash.tensor = #o_pieces}, %lp: memref<?x?x?xf32> {dash.tensor = #lse_pieces}, %o: memref<?x?x?x40xbf16> {dash.tensor = #o}, %lse: memref<?x?x?xf32> {dash.tensor = #lse}) {
  // expected-error @below {{puts pieces of 2048 rows together, but its kernels say that pieces have 1024; run --dash-outline-program to make them agree}}
  dash.combine %op, %lp into %o, %lse cut(2048) : memref<?x?x?x48xf32>, memref<?x?x?xf32> into memref<?x?x?x40xbf16>, memref<?x?x?xf32>
  return
}
gpu.module @attention_fwd_kernels attributes {dash.program = #dash.program<"attention_fwd"
    facts <element = bf16, head_dim = 40, head_dim_v = 40, mask = <causal>, tiles = <q = 64, kv = 128>, kind = "ascending",
           level = row, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 1, own = q, cut = 1024>
    order <entry = "attention_fwd_order">>} {
}

// -----

#o = #dash.tensor_role<"o", side = q, access = write, kind = tile, element = bf16, columns = 40, width = 48>
#lse = #dash.tensor_role<"lse", side = q, access = write, kind = log_row, element = f32>
#o_pieces = #dash.tensor_role<"o", side = q, access = sum, kind = tile, element = f32, columns = 48>
#lse_pieces = #dash.tensor_role<"lse", side = q, access = sum, kind = log_row, element = f32>
func.func @attention_fwd(%op: memref<?x?x?x48xf32> {dash.tensor = #o_pieces}, %lp: memref<?x?x?xf32> {dash.tensor = #lse_pieces}, %o: memref<?x?x?x40xbf16>, %lse: memref<?x?x?xf32> {dash.tensor = #lse}) {
  // expected-error @below {{works on memory of type 'memref<?x?x?x40xbf16>' that has no '#dash.tensor_role': expected an argument with 'dash.tensor', as --dash-tile leaves it}}
  dash.combine %op, %lp into %o, %lse cut(2048) : memref<?x?x?x48xf32>, memref<?x?x?xf32> into memref<?x?x?x40xbf16>, memref<?x?x?xf32>
  return
}
gpu.module @attention_fwd_kernels attributes {dash.program = #dash.program<"attention_fwd"
    facts <element = bf16, head_dim = 40, head_dim_v = 40, mask = <causal>, tiles = <q = 64, kv = 128>, kind = "ascending",
           level = row, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 1, own = q, cut = 2048>
    order <entry = "attention_fwd_order">>} {
}
