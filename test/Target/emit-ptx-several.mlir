// RUN: rm -rf %t && mkdir %t
// RUN: dash-opt %s --dash-attach-target --dash-convert-to-llvm --dash-emit-ptx='output=%t/both' -o /dev/null
// RUN: ls %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/both-second.json
// REQUIRES: host-supports-nvptx

// Several modules have files of their own; a table comes as a file beside.
// CHECK:      both-first.json
// CHECK-NEXT: both-first.ptx
// CHECK-NEXT: both-second.json
// CHECK-NEXT: both-second.order
// CHECK-NEXT: both-second.ptx

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#dq = #dash.tensor_role<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>
// JSON: "file": "both-second.ptx"
// JSON: "order": {"source":"file","file":"both-second.order","command":"dash-opt …","bytes":12,"sha256":"{{[0-9a-f]+}}","search":"#dash.search<version = 5, budget = 131072, dq_limit = 33554432>","cost":"#dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, boundary = 5.5>"}
gpu.module @first_kernels attributes {
  dash.program = #dash.program<"first"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>,
           tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    sizes[<name = "batch", min = 1, max = 65535>,
           <name = "q_rows", min = 4096, max = 4096>]
    constraints[<expression = "q_rows % 64", equals = 0, message = "q_rows must be a multiple of 64">]
    derived[<name = "q_tiles", expression = "ceildiv(q_rows, 64)">]
    tensors[<#q, shape["batch", "q_rows", "64"], alignment = 16, stride_multiple = 8>,
             <#dq, shape["batch", "q_rows", "64"], alignment = 16, stride_multiple = 8>]
    workspace[<name = "turns", bytes = "4*batch*q_tiles", alignment = 16, before = zero, after = zero>]
    order <entry = "first_order">>} {
  llvm.func @first_order(%turns: !llvm.ptr<1> {dash.parameter = "workspace.turns"}, %batch: i32 {dash.parameter = "batch"})
      attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 32, 1, 1>,
                  dash.entry = #dash.entry<order, sizes_change, grid["workers", "1", "1"], block[32, 1, 1], cluster[1, 1, 1],
                              shared_bytes = 0, cooperative = false>} {
    llvm.store %batch, %turns : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @first_main(%from: !llvm.ptr<1> {dash.parameter = "q"}, %to: !llvm.ptr<1> {dash.parameter = "dq"},
                       %stride: i64 {dash.parameter = "dq.stride.row"}, %scale: f32 {dash.parameter = "scale"})
      attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>,
                  dash.entry = #dash.entry<main, always, grid["batch*q_tiles", "1", "1"], block[128, 1, 1], cluster[1, 1, 1],
                              shared_bytes = 0, cooperative = true>} {
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %source = llvm.getelementptr %from[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %target = llvm.getelementptr %to[%stride] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %value = llvm.load %source : !llvm.ptr<1> -> f32
    %scaled = arith.mulf %value, %scale : f32
    llvm.store %scaled, %target : f32, !llvm.ptr<1>
    llvm.return
  }
}

gpu.module @second_kernels attributes {
  dash.order_buffer = dense<[1, 2, -3]> : tensor<3xi32>,
  dash.program = #dash.program<"second"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>,
           tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    sizes[<name = "batch", min = 1, max = 65535>,
           <name = "q_rows", min = 4096, max = 4096>]
    constraints[<expression = "q_rows % 64", equals = 0, message = "q_rows must be a multiple of 64">]
    derived[<name = "q_tiles", expression = "ceildiv(q_rows, 64)">]
    tensors[<#q, shape["batch", "q_rows", "64"], alignment = 16, stride_multiple = 8>,
             <#dq, shape["batch", "q_rows", "64"], alignment = 16, stride_multiple = 8>]
    workspace[<name = "turns", bytes = "4*batch*q_tiles", alignment = 16, before = zero, after = zero>]
    order <file = "dash-opt …", search <version = 5, budget = 131072, dq_limit = 33554432>,
           cost <compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, boundary = 5.5>>>} {
  llvm.func @second_main(%from: !llvm.ptr<1> {dash.parameter = "q"}, %to: !llvm.ptr<1> {dash.parameter = "dq"},
                       %stride: i64 {dash.parameter = "dq.stride.row"}, %scale: f32 {dash.parameter = "scale"})
      attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>,
                  dash.entry = #dash.entry<main, always, grid["batch*q_tiles", "1", "1"], block[128, 1, 1], cluster[1, 1, 1],
                              shared_bytes = 0, cooperative = true>} {
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %source = llvm.getelementptr %from[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %target = llvm.getelementptr %to[%stride] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %value = llvm.load %source : !llvm.ptr<1> -> f32
    %scaled = arith.mulf %value, %scale : f32
    llvm.store %scaled, %target : f32, !llvm.ptr<1>
    llvm.return
  }
}
