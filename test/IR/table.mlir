// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// RUN: dash-opt --mlir-elide-elementsattrs-if-larger=8 %s | dash-opt | FileCheck %s --check-prefix=ELIDED

// CHECK-LABEL: func.func private @table
// CHECK-SAME{LITERAL}: #dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>, visits = dense<[[0, 0, 0], [0, 1, 0]]> : tensor<2x3xi32>>
// What is elided still reads.
// ELIDED-LABEL: func.func private @table
// ELIDED-SAME: items = dense_resource<__elided__> : tensor<2x6xi32>
func.func private @table() attributes
  {a = #dash.table<items = dense<[[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0]]> : tensor<2x6xi32>,
                   visits = dense<[[0, 0, 0], [0, 1, 0]]> : tensor<2x3xi32>>}

// CHECK-LABEL: func.func private @empty
// CHECK-SAME: #dash.table<items = dense<> : tensor<0x6xi32>, visits = dense<> : tensor<0x3xi32>>
func.func private @empty() attributes
  {a = #dash.table<items = dense<> : tensor<0x6xi32>, visits = dense<> : tensor<0x3xi32>>}

// One value for all rows is not spelled out.
// CHECK-LABEL: func.func private @splat
// CHECK-SAME: visits = dense<0> : tensor<1000000x3xi32>
func.func private @splat() attributes
  {a = #dash.table<items = dense<0> : tensor<1x6xi32>, visits = dense<0> : tensor<1000000x3xi32>>}
