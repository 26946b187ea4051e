// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// Whole pieces of eight rows, whole panels of 64 columns.
// CHECK-LABEL: func.func private @swizzled(
// CHECK-SAME:    !swizzled_64x128xbf16, !swizzled_8x64xf16)
func.func private @swizzled(tensor<64x128xbf16, #dash.swizzled>, tensor<8x64xf16, #dash.swizzled>)

// Panels of 64 columns are rows of 128 bytes, which need not be said; others are of 32 and of 16 columns.
// CHECK-LABEL: func.func private @bytes(
// CHECK-SAME:    !swizzled_64x128xbf16, !swizzled64_64x96xbf16, !swizzled32_8x48xf16)
// CHECK-SAME:    attributes {layouts = [#dash.swizzled, #dash.swizzled<64>, #dash.swizzled<32>]}
func.func private @bytes(tensor<64x128xbf16, #dash.swizzled<128>>, tensor<64x96xbf16, #dash.swizzled<64>>, tensor<8x48xf16, #dash.swizzled<32>>)
  attributes {layouts = [#dash.swizzled<128>, #dash.swizzled<64>, #dash.swizzled<32>]}
