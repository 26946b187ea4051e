// RUN: dash-opt %s --dash-lower-convert -verify-diagnostics -split-input-file

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
func.func @not_outlined(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
  // expected-error @below {{has no kernels to be part of; run --dash-outline-program first}}
  dash.convert %sum to %dq : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// Memory made elsewhere, or not made at all.
func.func @attention_bwd(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
  dash.convert %sum to %dq : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
// expected-error @below {{does not say which program its kernels are of ('dash.program'); run --dash-outline-program to make it}}
gpu.module @attention_bwd_kernels {
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// The op that added the sums knows.
func.func @attention_bwd(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
  // expected-error @below {{does not say how tiles of the sums lie in memory; run --dash-distribute-tiles first}}
  dash.convert %sum to %dq : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// 64 rows are not two warpgroups' rows.
func.func @attention_bwd(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
  // expected-error @below {{#dash.fragment<accumulator, rows by 2> needs 128 rows, 64 a warpgroup, got 64x64}}
  dash.convert %sum to %dq layout(<accumulator, rows by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// Four lanes share two rows of 16 columns.
func.func @attention_bwd(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
  // expected-error @below {{sums must lie in multiples of 16 columns of a warpgroup, got 8 by #dash.fragment<accumulator, columns by 8>}}
  dash.convert %sum to %dq layout(<accumulator, columns by 8>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// Which gradient it is, the role of its memory says.
func.func @attention_bwd(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16>) {
  // expected-error @below {{rounds sums into memory without a '#dash.tensor_role': expected an argument with 'dash.tensor', as --dash-tile leaves it}}
  dash.convert %sum to %dq layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#k = #dash.tensor_role<"k", side = kv, access = read, kind = tile, element = bf16, columns = 64>
func.func @attention_bwd(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %k: memref<?x?x?x64xbf16> {dash.tensor = #k}) {
  // expected-error @below {{rounds sums into 'k' (read, tile) of type 'memref<?x?x?x64xbf16>', expected a written tile of 64 columns of 'bf16'}}
  dash.convert %sum to %k layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
}

// -----

#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// A factor that comes with a launch has the name of its parameter.
func.func @attention_bwd(%sum: memref<?x?x?x64xf32>, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}, %scale: f32) {
  // expected-error @below {{has a scale without a '#dash.tensor_role': expected an argument with 'dash.tensor' that is a number}}
  dash.convert %sum to %dq scale(%scale) layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
}

// -----

#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
#dk = #dash.tensor_role<"dk", side = kv, access = write, kind = tile, element = bf16, columns = 64>
// One entry rounds all of them: its blocks have so many threads as hold a tile's sums.
func.func @attention_bwd(%dqsum: memref<?x?x?x64xf32>, %dksum: memref<?x?x?x64xf32>, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq},
                         %dk: memref<?x?x?x64xbf16> {dash.tensor = #dk}) {
  dash.convert %dqsum to %dq layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  // expected-error @below {{rounds sums of 128 threads, expected 256 as those of 'dq'}}
  dash.convert %dksum to %dk layout(<accumulator, columns by 1>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 2, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// What main kernels leave, their module says.
func.func @attention_bwd(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
  // expected-error @below {{adds contributions up that are kept apart, but its kernels say that contributions to 'dq' are added in turns; run --dash-outline-program behind --dash-keep-apart}}
  dash.convert %sum to %dq layout(<accumulator, columns by 2>) apart : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "attention_bwd_order">>} {
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
func.func @attention_bwd(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
  // expected-error @below {{rounds sums, but its kernels say that contributions to 'dq' are kept apart; run --dash-outline-program behind --dash-keep-apart}}
  dash.convert %sum to %dq layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @attention_bwd_kernels attributes {dash.program = #dash.program<"attention_bwd"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 1, apart = all>
    order <entry = "attention_bwd_order">>} {
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
func.func @waits_for_nobody(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
  // expected-error @below {{waits for its sums, but its kernels say that adds to 'dq' do not tell when one is complete; run --dash-outline-program behind --dash-overlap-rounding}}
  dash.convert %sum to %dq layout(<accumulator, columns by 2>) awaits_completion : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @waits_for_nobody_kernels attributes {dash.program = #dash.program<"waits_for_nobody"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    order <entry = "waits_for_nobody_order">>} {
}

// -----

#dq_sum = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
func.func @told_to_nobody(%sum: memref<?x?x?x64xf32> {dash.tensor = #dq_sum}, %dq: memref<?x?x?x64xbf16> {dash.tensor = #dq}) {
  // expected-error @below {{waits for no sum, but its kernels say that adds to 'dq' tell when one is complete; run --dash-outline-program behind --dash-overlap-rounding}}
  dash.convert %sum to %dq layout(<accumulator, columns by 2>) : memref<?x?x?x64xf32> to memref<?x?x?x64xbf16>
  return
}
gpu.module @told_to_nobody_kernels attributes {dash.program = #dash.program<"told_to_nobody"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
           tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132, overlaps_rounding = true>
    order <entry = "told_to_nobody_order">>} {
}
