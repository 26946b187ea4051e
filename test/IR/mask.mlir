// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func private @full
// CHECK-SAME: mask = #dash.mask<full>
func.func private @full() attributes {mask = #dash.mask<full>}

// CHECK-LABEL: func.func private @causal
// CHECK-SAME: mask = #dash.mask<causal>
func.func private @causal() attributes {mask = #dash.mask<causal>}
