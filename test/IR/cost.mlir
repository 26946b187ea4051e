// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func private @cost
// CHECK-SAME: #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>
func.func private @cost() attributes
  {a = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>}

// Numbers read back bit for bit: the sum 0.1 + 0.2, the smallest double, the largest cost.
// CHECK-LABEL: func.func private @exact
// CHECK-SAME: #dash.cost<compute = 0.30000000000000004, reduce = 5.0e-324, latency = 1.0e+100, buffers = 1>
func.func private @exact() attributes
  {a = #dash.cost<compute = 0.300000000000000044408920985006, reduce = 4.9406564584124654e-324,
                  latency = 1.0e100, buffers = 1>}

// Whole numbers keep their point.
// CHECK-LABEL: func.func private @whole
// CHECK-SAME: #dash.cost<compute = 1.0, reduce = 1.0e+20, latency = 0.0, buffers = 3>
func.func private @whole() attributes
  {a = #dash.cost<compute = 1., reduce = 100000000000000000000.0, latency = 0.0, buffers = 3>}

// A boundary of 0 is left out.
// CHECK-LABEL: func.func private @boundary
// CHECK-SAME: a = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, boundary = 5.5>
// CHECK-SAME: b = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>
func.func private @boundary() attributes
  {a = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, boundary = 5.5>,
   b = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, boundary = 0.0>}

// So are prices of parts.
// CHECK-LABEL: func.func private @parts
// CHECK-SAME: a = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, boundary = 5.5, piece = 1.6, convert = 7.5>
// CHECK-SAME: b = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, piece = 1.6>
// CHECK-SAME: c = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, convert = 7.5>
func.func private @parts() attributes
  {a = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, boundary = 5.5, piece = 1.6, convert = 7.5>,
   b = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, piece = 1.6>,
   c = #dash.cost<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2, piece = 0.0, convert = 7.5>}
