// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// First columns that all rows see, beside what each sees of its own; and sink tokens, beside a window.
// CHECK-LABEL: func.func private @prefix_and_sinks
// CHECK-SAME: a = #dash.mask<union = #dash.union<columns = 256, window = [-1, 0]>>
// CHECK-SAME: b = #dash.mask<causal, union = #dash.union<columns = 4, window = [512, -1]>>
func.func private @prefix_and_sinks() attributes
  {a = #dash.mask<union = #dash.union<columns = 256, window = [-1, 0]>>,
   b = #dash.mask<union = #dash.union<columns = 4, window = [512, -1]>, causal>}

// What the band says the union does not say again.
// CHECK-LABEL: func.func private @one_mask_has_one_text
// CHECK-SAME: a = #dash.mask<causal, union = #dash.union<columns = 4, window = [512, -1]>>
// CHECK-SAME: b = #dash.mask<window = [700, 30], union = #dash.union<columns = 4, window = [-1, 0]>>
// CHECK-SAME: c = #dash.mask<window = [512, 0]>, d = #dash.mask<full>
func.func private @one_mask_has_one_text() attributes
  {a = #dash.mask<causal, union = #dash.union<columns = 4, window = [512, 100]>>,
   b = #dash.mask<window = [700, 30], union = #dash.union<columns = 4, window = [700, 0]>>,
   c = #dash.mask<window = [512, 0], union = #dash.union<columns = 1, window = [600, 0]>>,
   d = #dash.mask<union = #dash.union<columns = 7, window = [-1, -1]>>}

// Beside a bitmap: what both leave is seen.
// CHECK-LABEL: func.func private @beside_blocks
// CHECK-SAME{LITERAL}: a = #dash.mask<causal, blocks = #dash.blocks<q = 64, kv = 128, bits = dense<[[true, false]]> : tensor<1x2xi1>>, union = #dash.union<columns = 4, window = [512, -1]>>
func.func private @beside_blocks() attributes
  {a = #dash.mask<union = #dash.union<columns = 4, window = [512, -1]>, causal, blocks = #dash.blocks<q = 64, kv = 128, bits = dense<[[1, 0]]> : tensor<1x2xi1>>>}
