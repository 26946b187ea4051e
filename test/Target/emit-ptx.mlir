// RUN: dash-opt %s --dash-attach-target --dash-convert-to-llvm --canonicalize --cse --dash-emit-ptx | FileCheck %s
// REQUIRES: host-supports-nvptx

// A kernel module becomes a binary of its name that holds PTX text.
// CHECK-LABEL: gpu.binary @copy_kernels
// CHECK-SAME:    #gpu.object<#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx88">, assembly =
// CHECK-SAME:    .version 8.8
// CHECK-SAME:    .target sm_90a
// CHECK-SAME:    .visible .entry copy_main(
// CHECK-SAME:    .maxntid 128
gpu.module @copy_kernels {
  llvm.func @copy_main(%from: !llvm.ptr<1> {dash.parameter = "q"}, %to: !llvm.ptr<1> {dash.parameter = "dq"})
      attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>,
                  dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 128, 1, 1>,
                                cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %source = llvm.getelementptr %from[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %target = llvm.getelementptr %to[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %value = llvm.load %source : !llvm.ptr<1> -> f32
    llvm.store %value, %target : f32, !llvm.ptr<1>
    llvm.return
  }
}

// A module of the host stays as it is.
// CHECK-LABEL: gpu.module @of_the_host
gpu.module @of_the_host {
  gpu.func @kernel() kernel {
    gpu.return
  }
}
