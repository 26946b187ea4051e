// RUN: dash-opt %s --dash-convert-to-llvm -verify-diagnostics -split-input-file

gpu.module @kernels attributes {dash.program = #dash.program<"x"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  order <entry = "x_order">>} {
  // Entries are functions of llvm: a gpu.func cannot hold all that a kernel needs.
  gpu.func @kernel() kernel {
    // expected-error @below {{expected ops of arith, cf, scf, llvm and nvvm in a kernel, got 'gpu.return', which nothing converts}}
    gpu.return
  }
}

// -----

gpu.module @kernels attributes {dash.program = #dash.program<"x"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  order <entry = "x_order">>} {
  llvm.func @kernel(%x: f32, %to: !llvm.ptr<1>) {
    // expected-error @below {{expected ops of arith, cf, scf, llvm and nvvm in a kernel, got 'math.exp2', which nothing converts}}
    %y = math.exp2 %x : f32
    llvm.store %y, %to : f32, !llvm.ptr<1>
    llvm.return
  }
}
