// RUN: dash-opt %s --dash-attach-target | FileCheck %s

// CHECK-LABEL: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx83">]
gpu.module @kernels attributes {dash.program = #dash.program<"x"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  order <entry = "x_order">>} {
}

// A module of the host is left to the host.
// CHECK: gpu.module @of_the_host {
gpu.module @of_the_host {
}
