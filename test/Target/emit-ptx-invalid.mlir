// RUN: dash-opt %s --dash-emit-ptx -verify-diagnostics -split-input-file
// REQUIRES: host-supports-nvptx

#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>

// expected-error @below {{expected a kernel module to have 'dash.program'; dash-outline-program makes it}}
gpu.module @kernels {
  llvm.func @main() attributes {dash.entry = #main} {
    llvm.return
  }
}

// -----

#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 16, stride_multiple = 8>] order <file = "dash-opt">>

// expected-error @below {{expected 'dash.order_buffer', since the order is a file}}
gpu.module @kernels attributes {dash.program = #program} {
  llvm.func @main() attributes {dash.entry = #main} {
    llvm.return
  }
}

// -----

#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 16, stride_multiple = 8>] order <entry = "x_order">>

// expected-error @below {{expected an entry 'x_order', which makes the order}}
gpu.module @kernels attributes {dash.program = #program} {
  llvm.func @main() attributes {dash.entry = #main} {
    llvm.return
  }
}

// -----

#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 16, stride_multiple = 8>] order <entry = "main">>

// expected-error @below {{expected no 'dash.order_buffer', since an entry makes the order}}
gpu.module @kernels attributes {dash.order_buffer = dense<0> : tensor<1xi32>, dash.program = #program} {
  llvm.func @main() attributes {dash.entry = #main} {
    llvm.return
  }
}

// -----

#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 16, stride_multiple = 8>] order <file = "dash-opt">>

// expected-error @below {{expected a kernel module to have an entry: a function with 'dash.entry'}}
gpu.module @kernels attributes {dash.order_buffer = dense<0> : tensor<1xi32>, dash.program = #program} {
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<#q, shape["batch"], alignment = 16, stride_multiple = 8>] order <file = "dash-opt">>

gpu.module @kernels attributes {dash.order_buffer = dense<0> : tensor<1xi32>, dash.program = #program} {
  // expected-error @below {{expected 'dash.parameter' of argument 0 to name a tensor, a stride, a size or a region, got nothing}}
  llvm.func @main(%x: i32) attributes {dash.entry = #main} {
    llvm.return
  }
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<#q, shape["batch"], alignment = 16, stride_multiple = 8>] order <file = "dash-opt">>

gpu.module @kernels attributes {dash.order_buffer = dense<0> : tensor<1xi32>, dash.program = #program} {
  // expected-error @below {{expected 'dash.parameter' of argument 0 to name a tensor, a stride, a size or a region, got workspace.turns}}
  llvm.func @main(%x: i32 {dash.parameter = "workspace.turns"}) attributes {dash.entry = #main} {
    llvm.return
  }
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<#q, shape["batch"], alignment = 16, stride_multiple = 8>] order <file = "dash-opt">>

gpu.module @kernels attributes {dash.order_buffer = dense<0> : tensor<1xi32>, dash.program = #program} {
  // expected-error @below {{expected parameter 'batch' to be a pointer, i32, i64 or f32, got 'f64'}}
  llvm.func @main(%x: f64 {dash.parameter = "batch"}) attributes {dash.entry = #main} {
    llvm.return
  }
}

// -----

#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 16, stride_multiple = 8>] order <file = "dash-opt">>

gpu.module @kernels attributes {dash.order_buffer = dense<0> : tensor<1xi32>, dash.program = #program} {
  // expected-error @below {{expected a name that PTX can have, of letters, digits, '_' and '$' and with no digit in front, got 'x.main'}}
  llvm.func @x.main() attributes {dash.entry = #main} {
    llvm.return
  }
}

// -----

#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 16, stride_multiple = 8>] order <file = "dash-opt">>

// expected-error @below {{expected one #nvvm.target at the kernel module, got 0 target(s); run --dash-attach-target first}}
gpu.module @kernels attributes {dash.order_buffer = dense<0> : tensor<1xi32>, dash.program = #program} {
  llvm.func @main() attributes {dash.entry = #main} {
    llvm.return
  }
}

// -----

#q = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>
#main = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>
#program = #dash.program<"x" facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift",
         level = run, deterministic = true, parts = 1, workers = 2, width = 2, min_workers = 2>
  sizes[<name = "batch", min = 1, max = 8>]
  tensors[<#q, shape["batch"], alignment = 16, stride_multiple = 8>] order <file = "dash-opt">>

// expected-error @below {{Failed creating the llvm::Module.}}
// expected-error @below {{cannot translate the kernel module to PTX; run --dash-convert-to-llvm first}}
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] attributes {dash.order_buffer = dense<0> : tensor<1xi32>, dash.program = #program} {
  llvm.func @main() attributes {dash.entry = #main} {
    // expected-error @below {{cannot be converted to LLVM IR: missing `LLVMTranslationDialectInterface` registration for dialect for op: arith.constant}}
    %zero = arith.constant 0 : i32
    llvm.return
  }
}
