// RUN: dash-opt %s --dash-lower-deal -verify-diagnostics -split-input-file

// expected-error @below {{deals items, but its workspace has no region 'issue' for them; run --dash-outline-program to make it}}
gpu.module @list_kernels attributes {
    dash.deal = #dash.deal<task = 8, boundary = 25>,
    dash.program = #dash.program<"list"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 64, kv = 128>, kind = "shortest-first", level = run, deterministic = true,
             parts = 1, workers = 132, width = 132, min_workers = 132>
      derived [<name = "sequences", expression = "bounds - 1">]
      order <entry = "list_order">>} {
}

// -----

// expected-error @below {{deals items to at most 1024 workers, got 1025}}
gpu.module @list_kernels attributes {
    dash.deal = #dash.deal<task = 8, boundary = 25>,
    dash.program = #dash.program<"list"
      facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>,
             tiles = <q = 64, kv = 128>, kind = "shortest-first", level = run, deterministic = true,
             parts = 1, workers = 1025, width = 1025, min_workers = 1025>
      derived [<name = "sequences", expression = "bounds - 1">]
      order <entry = "list_order">>} {
}
