// RUN: dash-opt %s --dash-attach-target -verify-diagnostics
// RUN: not dash-opt %s --dash-attach-target=target=sm_90 2>&1 | FileCheck %s

// A name that LLVM knows, of a chip without the instructions:
// CHECK: error: unknown target 'sm_90', expected one of sm_90a

// expected-error @below {{expected a kernel module without a target, or with #nvvm.target<O = 3, chip = "sm_90a", features = "+ptx88">, got [#nvvm.target<chip = "sm_100a">]; leave the choice to this pass}}
gpu.module @another_chip [#nvvm.target<chip = "sm_100a">] attributes {dash.program = {}} {
}
