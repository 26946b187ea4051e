// RUN: dash-opt %s --dash-attach-target --dash-convert-to-llvm --dash-emit-ptx | FileCheck %s
// RUN: rm -rf %t && mkdir %t
// RUN: dash-opt %s --dash-attach-target --dash-convert-to-llvm --dash-emit-ptx='output=%t/copy' | FileCheck %s --check-prefix=EMPTY
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/copy.ptx
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/copy.json
// RUN: ls %t | FileCheck %s --check-prefix=FILES
// The same input gives the same bytes.
// RUN: mkdir %t/again && dash-opt %s --dash-attach-target --dash-convert-to-llvm --dash-emit-ptx='output=%t/again/copy' -o /dev/null
// RUN: cmp %t/copy.ptx %t/again/copy.ptx && cmp %t/copy.json %t/again/copy.json
// REQUIRES: host-supports-nvptx

// A kernel module becomes a binary of its name: PTX text, and its manifest.
// CHECK:      gpu.binary @copy_kernels {dash.manifest = {{.*}}file\22: \22copy.ptx
// CHECK-SAME:   [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx83">, assembly =

// Or files, and is gone.
// FILES:      copy.json
// FILES-NEXT: copy.ptx
// EMPTY-NOT: copy
// PTX:       .version 8.3
// PTX:       .target sm_90a
// PTX:       .visible .entry copy_order(
// PTX:       .visible .entry copy_main(
// PTX:       .maxntid 128

// JSON:      "version": 1,
// JSON-NEXT: "name": "copy",
// JSON-NEXT: "ptx": {
// JSON-NEXT:   "file": "copy.ptx",
// JSON-NEXT:   "sha256": "{{[0-9a-f]+}}",
// JSON-NEXT:   "isa": "8.3",
// JSON-NEXT:   "target": "sm_90a"
// JSON:      "certificate": "sha256:{{[0-9a-f]+}}",
// JSON:        "tiles": {"q":64,"kv":128},
// JSON:      "sizes": {
// JSON-NEXT:   "batch": {"min":1,"max":65535},
// JSON-NEXT:   "q_rows": {"value":4096}
// JSON:      "order": {"source":"entry","entry":"copy_order"},
// JSON:          "name": "copy_main",
// JSON-NEXT:     "role": "main",
// JSON-NEXT:     "when": "always",
// JSON-NEXT:     "grid": ["batch*q_tiles","1","1"],
// JSON-NEXT:     "block": [128,1,1],
// JSON-NEXT:     "cluster": [1,1,1],
// JSON-NEXT:     "shared_bytes": 0,
// JSON-NEXT:     "cooperative": true,
// JSON-NEXT:     "overlaps": true,
// JSON-NEXT:     "registers": null,
// JSON-NEXT:     "parameters": [
// JSON-NEXT:       {"name":"q","type":"ptr"},
// JSON-NEXT:       {"name":"dq","type":"ptr"},
// JSON-NEXT:       {"name":"dq.stride.row","type":"i64"},
// JSON-NEXT:       {"name":"scale","type":"f32"}
gpu.module @copy_kernels attributes {
  dash.program = #dash.program<"copy"
    facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <causal>,
           tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true,
           parts = 1, workers = 132, width = 132, min_workers = 132>
    sizes[<name = "batch", min = 1, max = 65535>,
           <name = "q_rows", min = 4096, max = 4096>]
    constraints[<expression = "q_rows % 64", equals = 0, message = "q_rows must be a multiple of 64">]
    derived[<name = "q_tiles", expression = "ceildiv(q_rows, 64)">]
    tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch", "q_rows", "64"], alignment = 16, stride_multiple = 8>,
             <<"dq", side = q, access = write, kind = tile, element = bf16, columns = 64>, shape["batch", "q_rows", "64"], alignment = 16, stride_multiple = 8>]
    workspace[<name = "turns", bytes = "4*batch*q_tiles", alignment = 16, before = zero, after = zero>]
    order <entry = "copy_order">>} {
  llvm.func @copy_order(%turns: !llvm.ptr<1> {dash.parameter = "workspace.turns"}, %batch: i32 {dash.parameter = "batch"})
      attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 32, 1, 1>,
                  dash.entry = #dash.entry<order, sizes_change, grid["workers", "1", "1"], block[32, 1, 1], cluster[1, 1, 1],
                              shared_bytes = 0, cooperative = false>} {
    llvm.store %batch, %turns : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @copy_main(%from: !llvm.ptr<1> {dash.parameter = "q"}, %to: !llvm.ptr<1> {dash.parameter = "dq"},
                       %stride: i64 {dash.parameter = "dq.stride.row"}, %scale: f32 {dash.parameter = "scale"})
      attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>,
                  dash.entry = #dash.entry<main, always, grid["batch*q_tiles", "1", "1"], block[128, 1, 1], cluster[1, 1, 1],
                              shared_bytes = 0, cooperative = true, overlaps = true>} {
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %source = llvm.getelementptr %from[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %target = llvm.getelementptr %to[%stride] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %value = llvm.load %source : !llvm.ptr<1> -> f32
    %scaled = arith.mulf %value, %scale : f32
    llvm.store %scaled, %target : f32, !llvm.ptr<1>
    llvm.return
  }
}

// A module of the host stays as it is.
// CHECK: gpu.module @of_the_host
// EMPTY: gpu.module @of_the_host
gpu.module @of_the_host {
  gpu.func @kernel() kernel {
    gpu.return
  }
}
