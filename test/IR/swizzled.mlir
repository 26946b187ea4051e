// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// Whole pieces of eight rows, whole panels of 64 columns.
// CHECK-LABEL: func.func private @swizzled(
// CHECK-SAME:    !swizzled_64x128xbf16, !swizzled_8x64xf16)
func.func private @swizzled(tensor<64x128xbf16, #dash.swizzled>, tensor<8x64xf16, #dash.swizzled>)
