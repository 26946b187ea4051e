// RUN: dash-opt %s --dash-lower-clear -verify-diagnostics -split-input-file

#cu_seqlens_q = #dash.tensor_role<"cu_seqlens_q", side = q, access = read, kind = bounds, element = i32>
// expected-error @below {{kernels cover q tiles of 64 and 128 rows and kv tiles of 64 and 128, got 32 and 128}}
gpu.module @list_kernels attributes {dash.program = #dash.program<"list"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>, tiles = <q = 32, kv = 128>, kind = "ascending",
           level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 132>
    derived [<name = "sequences", expression = "bounds - 1">]
    tensors[<#cu_seqlens_q, shape["bounds"], alignment = 4, stride_multiple = 1>]
    order <entry = "list_order">>} {
}

// -----

#cu_seqlens_q = #dash.tensor_role<"cu_seqlens_q", side = q, access = read, kind = bounds, element = i32>
// expected-error @below {{expected 'tensors' of 'dash.program' with an output that has rows, found none; run --dash-outline-program to make it}}
gpu.module @list_kernels attributes {dash.program = #dash.program<"list"
    facts <element = bf16, head_dim = 128, head_dim_v = 128, mask = <causal>, tiles = <q = 64, kv = 128>, kind = "ascending",
           level = run, deterministic = true, parts = 1, workers = 132, width = 132, min_workers = 132>
    derived [<name = "sequences", expression = "bounds - 1">]
    tensors[<#cu_seqlens_q, shape["bounds"], alignment = 4, stride_multiple = 1>]
    order <entry = "list_order">>} {
}
