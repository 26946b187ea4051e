// RUN: dash-opt %s --dash-lower-sequences -verify-diagnostics -split-input-file

// expected-error @below {{kernels cover q tiles of 64 and 128 rows and kv tiles of 64 and 128, got 32 and 128}}
gpu.module @list_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                                   visit(kv, step) = first + step, turn(kv, q) = kv - first>,
    dash.program = #dash.program<"list"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 32, kv = 128>, kind = "ascending", level = run, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 132>
      derived [<name = "sequences", expression = "bounds - 1">]
      order <entry = "list_order">>} {
}

// -----

// expected-error @below {{expected 'tensors' of 'dash.program' with bounds of queries and of keys, in this order, found 0 of them; run --dash-outline-program to make it}}
gpu.module @list_kernels attributes {
    dash.formulas = #dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), worker(unit) = unit mod workers,
                                   visit(kv, step) = first + step, turn(kv, q) = kv - first>,
    dash.program = #dash.program<"list"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 132>
      derived [<name = "sequences", expression = "bounds - 1">]
      order <entry = "list_order">>} {
}
