// RUN: dash-opt %s --dash-attach-target -verify-diagnostics

// expected-error @below {{expected a kernel module without a target, or with #nvvm.target<O = 3, chip = "sm_90a", features = "+ptx88">, got [#nvvm.target<chip = "sm_100a">]; leave the choice to this pass}}
gpu.module @another_chip [#nvvm.target<chip = "sm_100a">] attributes {dash.program = {}} {
}
