// RUN: dash-opt %s --dash-emit-ptx -verify-diagnostics -split-input-file
// REQUIRES: host-supports-nvptx

// expected-error @below {{expected one #nvvm.target at the kernel module, got 0 target(s); run --dash-attach-target first}}
gpu.module @without_target attributes {dash.program = {}} {
}

// -----

// expected-error @below {{Failed creating the llvm::Module.}}
// expected-error @below {{cannot translate the kernel module to PTX; run --dash-convert-to-llvm first}}
gpu.module @not_converted [#nvvm.target<chip = "sm_90a">] attributes {dash.program = {}} {
  llvm.func @kernel() {
    // expected-error @below {{cannot be converted to LLVM IR: missing `LLVMTranslationDialectInterface` registration for dialect for op: arith.constant}}
    %zero = arith.constant 0 : i32
    llvm.return
  }
}
