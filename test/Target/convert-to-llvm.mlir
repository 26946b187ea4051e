// RUN: dash-opt %s --dash-convert-to-llvm | FileCheck %s

// Loops, branches and arithmetic become llvm; nvvm ops without an intrinsic become PTX text.
// CHECK-LABEL: llvm.func @sum
// CHECK-NOT:     {{scf|arith|cf}}.
// CHECK:         llvm.cond_br
// CHECK:         llvm.sdiv
// CHECK:         llvm.inline_asm {{.*}} "bar.arrive 0
// CHECK-NOT:     {{scf|arith|cf}}.
// CHECK:         llvm.return
gpu.module @kernels attributes {dash.program = #dash.program<"x"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  order <entry = "x_order">>} {
  llvm.func @sum(%n: i32, %to: !llvm.ptr<1>) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %last = scf.for %i = %zero to %n step %one iter_args(%sum = %zero) -> (i32) : i32 {
      %half = arith.floordivsi %i, %n : i32
      %next = arith.addi %sum, %half : i32
      scf.yield %next : i32
    }
    %is_zero = arith.cmpi eq, %last, %zero : i32
    scf.if %is_zero {
      nvvm.barrier.arrive number_of_threads = %n
      llvm.store %last, %to : i32, !llvm.ptr<1>
    }
    llvm.return
  }
}

// A module of the host is left to the host.
// CHECK-LABEL: gpu.module @of_the_host
gpu.module @of_the_host {
  // CHECK: arith.constant
  gpu.func @kernel() kernel {
    %zero = arith.constant 0 : i32
    gpu.return
  }
}
