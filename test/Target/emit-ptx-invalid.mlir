// RUN: dash-opt %s --dash-emit-ptx -verify-diagnostics -split-input-file
// REQUIRES: host-supports-nvptx

// expected-error @below {{expected a kernel module to have a dictionary 'dash.program'; dash-outline-program makes it}}
gpu.module @kernels {
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

// expected-error @below {{expected 'name' of 'dash.program' to be a string, got nothing}}
gpu.module @kernels attributes {dash.program = {}} {
}

// -----

// expected-error @below {{expected 'sizes' of 'dash.program' to be a dictionary, got 3 : i64}}
gpu.module @kernels attributes {dash.program = {name = "x", program = {}, sizes = 3 : i64}} {
}

// -----

// expected-error @below {{expected 'tensors' of 'dash.program' to hold dictionaries, got "q"}}
gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = ["q"], workspace = [], order = {source = "file"}}} {
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

// expected-error @below {{expected 'name' of 'workspace' to be a string, got nothing}}
gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [{}], order = {source = "file"}}} {
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

// expected-error @below {{expected 'dash.order' to hold i32 elements, since the order is a file}}
gpu.module @kernels attributes {dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

// expected-error @below {{expected the order's source to be "entry" or "file", got "air"}}
gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "air"}}} {
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

// expected-error @below {{expected an entry 'x_order', which makes the order}}
gpu.module @kernels attributes {dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "entry", entry = "x_order"}}} {
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

// expected-error @below {{expected no 'dash.order', since an entry makes the order}}
gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "entry", entry = "main"}}} {
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

// expected-error @below {{expected a kernel module to have an entry: a function with 'dash.entry'}}
gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
}

// -----

gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  // expected-error @below {{expected 'when' of 'dash.entry' to be a string, got nothing}}
  llvm.func @main() attributes {dash.entry = {role = "main", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  // expected-error @below {{expected a grid of three expressions, got ["1"]}}
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  // expected-error @below {{expected 'block' to be three positive numbers, got array<i32: 0, 1, 1>}}
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 0, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  // expected-error @below {{expected 'dash.parameter' of argument 0 to name a tensor, a stride, a size or a region, got nothing}}
  llvm.func @main(%x: i32) attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  // expected-error @below {{expected 'dash.parameter' of argument 0 to name a tensor, a stride, a size or a region, got workspace.turns}}
  llvm.func @main(%x: i32 {dash.parameter = "workspace.turns"}) attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  // expected-error @below {{expected parameter 'batch' to be a pointer, i32, i64 or f32, got 'f64'}}
  llvm.func @main(%x: f64 {dash.parameter = "batch"}) attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

// expected-error @below {{expected one #nvvm.target at the kernel module, got 0 target(s); run --dash-attach-target first}}
gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    llvm.return
  }
}

// -----

// expected-error @below {{Failed creating the llvm::Module.}}
// expected-error @below {{cannot translate the kernel module to PTX; run --dash-convert-to-llvm first}}
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  llvm.func @main() attributes {dash.entry = {role = "main", when = "always", grid = ["1", "1", "1"], block = array<i32: 32, 1, 1>, cluster = array<i32: 1, 1, 1>, shared_bytes = 0 : i64, cooperative = false}} {
    // expected-error @below {{cannot be converted to LLVM IR: missing `LLVMTranslationDialectInterface` registration for dialect for op: arith.constant}}
    %zero = arith.constant 0 : i32
    llvm.return
  }
}

// -----

gpu.module @kernels attributes {dash.order = dense<0> : tensor<1xi32>, dash.program = {name = "x", program = {}, sizes = {batch = {}}, derived = {}, constraints = [], tensors = [{name = "q"}], workspace = [], order = {source = "file"}}} {
  // expected-error @below {{expected 'dash.entry' to be a dictionary at a function}}
  llvm.func @main() attributes {dash.entry = 3 : i64} {
    llvm.return
  }
}
