// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func private @search
// CHECK-SAME: #dash.search<version = 4, budget = 131072, dq_limit = 33554432>
func.func private @search() attributes {a = #dash.search<version = 4, budget = 131072, dq_limit = 33554432>}

// CHECK-LABEL: func.func private @no_limit
// CHECK-SAME: #dash.search<version = 2, budget = 1, dq_limit = 0>
func.func private @no_limit() attributes {a = #dash.search<version = 2, budget = 1, dq_limit = 0>}
