// RUN: dash-opt %s --dash-attach-target | FileCheck %s

// CHECK-LABEL: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx88">]
gpu.module @kernels attributes {dash.program = {}} {
}

// A module of the host is left to the host.
// CHECK: gpu.module @of_the_host {
gpu.module @of_the_host {
}
