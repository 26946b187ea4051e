// RUN: dash-opt %s --dash-attach-target -verify-diagnostics
// RUN: not dash-opt %s --dash-attach-target=target=sm_90 2>&1 | FileCheck %s

// A name that LLVM knows, of a chip without the instructions:
// CHECK: error: unknown target 'sm_90', expected one of sm_90a

// expected-error @below {{expected a kernel module without a target, or with #nvvm.target<O = 3, chip = "sm_90a", features = "+ptx83">, got [#nvvm.target<chip = "sm_100a">]; leave the choice to this pass}}
gpu.module @another_chip [#nvvm.target<chip = "sm_100a">] attributes {dash.program = #dash.program<"x"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  order <entry = "x_order">>} {
}
