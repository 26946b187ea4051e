// RUN: dash-opt %s -verify-diagnostics -split-input-file

// A misspelt attribute, or one of another type or at another place, is refused: it would have no effect.

// expected-error @below {{unknown attribute 'dash.bogus' of an op, expected one of dash.program, dash.formulas, dash.runs, dash.deal, dash.order_buffer, dash.manifest, dash.entry, dash.tensors, dash.softcap, dash.problem}}
module attributes {dash.bogus} {
}

// -----

// When ops run and through what they go is said by ops: these are attributes no more.
// expected-error @below {{unknown attribute 'dash.stage' of an op, expected one of dash.program, dash.formulas, dash.runs, dash.deal, dash.order_buffer, dash.manifest, dash.entry, dash.tensors, dash.softcap, dash.problem}}
module attributes {dash.stage = 1} {
}

// -----

// expected-error @below {{unknown attribute 'dash.order' of an op, expected one of dash.program, dash.formulas, dash.runs, dash.deal, dash.order_buffer, dash.manifest, dash.entry, dash.tensors, dash.softcap, dash.problem}}
module attributes {dash.order = 1} {
}

// -----

// expected-error @below {{unknown attribute 'dash.staging' of an op, expected one of dash.program, dash.formulas, dash.runs, dash.deal, dash.order_buffer, dash.manifest, dash.entry, dash.tensors, dash.softcap, dash.problem}}
module attributes {dash.staging = 1} {
}

// -----

// expected-error @below {{unknown attribute 'dash.bogus' of an argument, expected one of dash.tensor, dash.shape, dash.parameter}}
func.func private @argument(i32 {dash.bogus})

// -----

// expected-error @below {{unknown attribute 'dash.tensor' of result 0, expected none}}
func.func private @result() -> (i32 {dash.tensor})

// -----

// expected-error @below {{expected 'dash.program' to be #dash.program<...>, got 7 : i64}}
gpu.module @number attributes {dash.program = 7} {
}

// -----

// expected-error @below {{expected 'dash.program' on a 'gpu.module', got 'builtin.module'}}
module attributes {dash.program = 7} {
}

// -----

// expected-error @below {{expected 'dash.formulas' to be #dash.formulas<...>, got "x"}}
gpu.module @text attributes {dash.formulas = "x"} {
}

// -----

// expected-error @below {{expected 'dash.order_buffer' to be dense i32 elements, got dense<0> : tensor<1xi64>}}
gpu.module @wide attributes {dash.order_buffer = dense<0> : tensor<1xi64>} {
}

// -----

// expected-error @below {{expected 'dash.manifest' to be a string, got 1 : i64}}
gpu.binary @binary {dash.manifest = 1} [#gpu.object<#nvvm.target, "">]

// -----

gpu.module @dictionary {
  // expected-error @below {{expected 'dash.entry' to be #dash.entry<...>, got {}}}
  llvm.func @main() attributes {dash.entry = {}} {
    llvm.return
  }
}

// -----

// expected-error @below {{expected 'dash.entry' on a function of a 'gpu.module', got 'func.func'}}
func.func private @host() attributes {dash.entry = {}}

// -----

// expected-error @below {{expected 'dash.problem' to be #dash.problem<...> or an array of them, got [1]}}
func.func private @problem() attributes {dash.problem = [1]}

// -----

// expected-error @below {{expected 'dash.tensor' to be #dash.tensor_role<...> or an array of them, got 1 : i64}}
func.func private @name(i32 {dash.tensor = 1})

// -----

// A name becomes that of a file.
// expected-error @below {{a tensor's name must be of small letters, digits, '_' and '-', got "../q"}}
func.func private @path(i32 {dash.tensor = #dash.tensor_role<"../q", side = q, access = read, kind = number, element = f32>})

// -----

// expected-error @below {{expected 'dash.tensor' to be #dash.tensor_role<...> or an array of them, got []}}
func.func private @several(i32 {dash.tensor = []})

// -----

// expected-error @below {{expected 'dash.tensors' to be an array of #dash.tensor_role<...>, got [1]}}
func.func private @tensors() attributes {dash.tensors = [1]}

// -----

// expected-error @below {{expected 'dash.shape' to be array<i64>, got [1]}}
func.func private @shape(i32 {dash.shape = [1]})

// -----

// expected-error @below {{expected 'dash.parameter' on an argument of a function of a 'gpu.module', got 'func.func'}}
func.func private @parameter(i32 {dash.parameter = "q"})

// -----

// expected-error @below {{expected 'dash.softcap' to be a number, got "50"}}
func.func private @capped() attributes {dash.softcap = "50"}
