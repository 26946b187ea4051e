// RUN: dash-opt %dash_examples/bwd-full.mlir --dash-verify-stage=after=IR | FileCheck %s --check-prefix=PROGRAM
// RUN: split-file %s %t
// RUN: dash-opt %t/program.mlir --dash-verify-stage | FileCheck %s --check-prefix=PROGRAM
// RUN: dash-opt %t/program.mlir --dash-tile --dash-apply-schedule='kind=shift workers=2 sizes=q:512' \
// RUN:   --dash-verify-stage=after=Schedule | FileCheck %s --check-prefix=SCHEDULE
// RUN: dash-opt %t/kernels.mlir --dash-verify-stage=after=Lowering | FileCheck %s --check-prefix=KERNELS
// RUN: dash-opt %t/binary.mlir --dash-verify-stage=after=Target | FileCheck %s --check-prefix=BINARY

// A contract that holds changes nothing, and says nothing.
// PROGRAM: dash.attention_bwd
// SCHEDULE: dash.ordered_reduce
// KERNELS: gpu.module @bwd_kernels
// BINARY: gpu.binary @bwd_kernels

//--- program.mlir
!Q = memref<?x?x?x64xbf16>
!R = memref<?x?x?xf32>
func.func @bwd(%q: !Q, %k: !Q, %v: !Q, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !Q, %dv: !Q) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !Q, !Q, !Q, !R, !Q)
                     outs(%dq, %dk, %dv : !Q, !Q, !Q) mask(<full>) level(run)
  return
}

//--- kernels.mlir
gpu.module @bwd_kernels attributes {dash.program = #dash.program<"x"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  order <entry = "x_order">>} {
  llvm.func @bwd_main(%n: i32) attributes {dash.entry = #dash.entry<main, always, grid["1", "1", "1"], block[1, 1, 1], cluster[1, 1, 1],
              shared_bytes = 0, cooperative = false>} {
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    scf.for %i = %zero to %n step %one : i32 {
      nvvm.barrier0
    }
    llvm.return
  }
}
// What the host computes is its own business.
gpu.module @of_the_host {
  gpu.func @kernel() kernel {
    gpu.return
  }
}

//--- binary.mlir
gpu.binary @bwd_kernels [#gpu.object<#nvvm.target, "">]
