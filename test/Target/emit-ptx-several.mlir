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

// JSON: "file": "both-second.ptx"
// JSON: "order": {"source":"file","file":"both-second.order","command":"dash-opt …","bytes":12,"sha256":"{{[0-9a-f]+}}"}
gpu.module @first_kernels attributes {
  dash.program = {
    name = "first",
    program = {element = "bf16", head_dim = 64 : i64, head_dim_v = 64 : i64, mask = "causal",
               tiles = {q = 64 : i64, kv = 128 : i64}, kind = "shift", level = "run", deterministic = true,
               parts = 1 : i64, workers = 132 : i64, width = 132 : i64, min_workers = 132 : i64},
    sizes = {batch = {min = 1 : i64, max = 65535 : i64}, q_rows = {value = 4096 : i64}},
    constraints = [{expression = "q_rows % 64", equals = 0 : i64, message = "q_rows must be a multiple of 64"}],
    derived = {q_tiles = "ceildiv(q_rows, 64)"},
    tensors = [{name = "q", element = "bf16", access = "read", shape = ["batch", "q_rows", "64"],
                alignment = 16 : i64, stride_multiple = 8 : i64},
               {name = "dq", element = "bf16", access = "write", shape = ["batch", "q_rows", "64"],
                alignment = 16 : i64, stride_multiple = 8 : i64}],
    workspace = [{name = "turns", bytes = "4*batch*q_tiles", alignment = 16 : i64, initial = "zero", after = "zero"}],
    order = {source = "entry", entry = "first_order"}}} {
  llvm.func @first_order(%turns: !llvm.ptr<1> {dash.parameter = "workspace.turns"}, %batch: i32 {dash.parameter = "batch"})
      attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 32, 1, 1>,
                  dash.entry = {role = "order", when = "sizes-change", grid = ["workers", "1", "1"],
                                block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>,
                                shared_bytes = 0 : i64, cooperative = false}} {
    llvm.store %batch, %turns : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @first_main(%from: !llvm.ptr<1> {dash.parameter = "q"}, %to: !llvm.ptr<1> {dash.parameter = "dq"},
                       %stride: i64 {dash.parameter = "dq.stride.row"}, %scale: f32 {dash.parameter = "scale"})
      attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>,
                  dash.entry = {role = "main", when = "always", grid = ["batch*q_tiles", "1", "1"],
                                block = array<i32: 128, 1, 1>, cluster = array<i32: 1, 1, 1>,
                                shared_bytes = 0 : i64, cooperative = true}} {
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
  dash.order = dense<[1, 2, -3]> : tensor<3xi32>,
  dash.program = {
    name = "second",
    program = {element = "bf16", head_dim = 64 : i64, head_dim_v = 64 : i64, mask = "causal",
               tiles = {q = 64 : i64, kv = 128 : i64}, kind = "shift", level = "run", deterministic = true,
               parts = 1 : i64, workers = 132 : i64, width = 132 : i64, min_workers = 132 : i64},
    sizes = {batch = {min = 1 : i64, max = 65535 : i64}, q_rows = {value = 4096 : i64}},
    constraints = [{expression = "q_rows % 64", equals = 0 : i64, message = "q_rows must be a multiple of 64"}],
    derived = {q_tiles = "ceildiv(q_rows, 64)"},
    tensors = [{name = "q", element = "bf16", access = "read", shape = ["batch", "q_rows", "64"],
                alignment = 16 : i64, stride_multiple = 8 : i64},
               {name = "dq", element = "bf16", access = "write", shape = ["batch", "q_rows", "64"],
                alignment = 16 : i64, stride_multiple = 8 : i64}],
    workspace = [{name = "turns", bytes = "4*batch*q_tiles", alignment = 16 : i64, initial = "zero", after = "zero"}],
    order = {source = "file", command = "dash-opt …"}}} {
  llvm.func @second_main(%from: !llvm.ptr<1> {dash.parameter = "q"}, %to: !llvm.ptr<1> {dash.parameter = "dq"},
                       %stride: i64 {dash.parameter = "dq.stride.row"}, %scale: f32 {dash.parameter = "scale"})
      attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>,
                  dash.entry = {role = "main", when = "always", grid = ["batch*q_tiles", "1", "1"],
                                block = array<i32: 128, 1, 1>, cluster = array<i32: 1, 1, 1>,
                                shared_bytes = 0 : i64, cooperative = true}} {
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %source = llvm.getelementptr %from[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %target = llvm.getelementptr %to[%stride] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %value = llvm.load %source : !llvm.ptr<1> -> f32
    %scaled = arith.mulf %value, %scale : f32
    llvm.store %scaled, %target : f32, !llvm.ptr<1>
    llvm.return
  }
}
