// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func private @full
// CHECK-SAME: mask = #dash.mask<full>
func.func private @full() attributes {mask = #dash.mask<full>}

// CHECK-LABEL: func.func private @causal
// CHECK-SAME: mask = #dash.mask<causal>
func.func private @causal() attributes {mask = #dash.mask<causal>}

// CHECK-LABEL: func.func private @window
// CHECK-SAME: mask = #dash.mask<window = [512, 128]>
func.func private @window() attributes {mask = #dash.mask<window = [512, 128]>}

// A window of a causal mask ends at the diagonal.
// CHECK-LABEL: func.func private @causal_window_is_a_window
// CHECK-SAME: a = #dash.mask<window = [512, 0]>, b = #dash.mask<window = [512, 0]>, c = #dash.mask<window = [512, 0]>
func.func private @causal_window_is_a_window() attributes
  {a = #dash.mask<causal, window = [512, -1]>, b = #dash.mask<window = [512, 100], causal>, c = #dash.mask<window = [512, 0]>}

// CHECK-LABEL: func.func private @window_without_bounds_is_none
// CHECK-SAME: a = #dash.mask<full>, b = #dash.mask<causal>
func.func private @window_without_bounds_is_none() attributes
  {a = #dash.mask<window = [-1, -1]>, b = #dash.mask<window = [-1, 0]>}

// CHECK-LABEL: func.func private @blocks
// CHECK-SAME{LITERAL}: a = #dash.mask<blocks = #dash.blocks<q = 128, kv = 64, bits = dense<[[true, false], [true, true]]> : tensor<2x2xi1>>>
// CHECK-SAME{LITERAL}: b = #dash.mask<causal, blocks = #dash.blocks<q = 128, kv = 64, bits = dense<[[true, false, false]]> : tensor<1x3xi1>>>
// CHECK-SAME{LITERAL}: c = #dash.mask<window = [512, 0], blocks = #dash.blocks<q = 16, kv = 16, bits = dense<true> : tensor<4x4xi1>>>
func.func private @blocks() attributes
  {a = #dash.mask<blocks = #dash.blocks<q = 128, kv = 64, bits = dense<[[1, 0], [1, 1]]> : tensor<2x2xi1>>>,
   b = #dash.mask<blocks = #dash.blocks<q = 128, kv = 64, bits = dense<[[1, 0, 0]]> : tensor<1x3xi1>>, causal>,
   c = #dash.mask<window = [512, 0], blocks = #dash.blocks<q = 16, kv = 16, bits = dense<1> : tensor<4x4xi1>>>}
