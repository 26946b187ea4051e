// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func private @one
// CHECK-SAME: #dash.sequences<[1, 9223372036854775807]>
func.func private @one() attributes {a = #dash.sequences<[1, 9223372036854775807]>}

// CHECK-LABEL: func.func private @open
// CHECK-SAME: #dash.sequences<?>
func.func private @open() attributes {a = #dash.sequences<?>}

// CHECK-LABEL: func.func private @runs
// CHECK-SAME: #dash.sequences<[1000, 1000], 4 x [3000, 2000]>
func.func private @runs() attributes {a = #dash.sequences<[1000, 1000], 4 x [3000, 2000]>}

// Neighbours are merged, whatever their runs were; lengths that differ in one place are not.
// CHECK-LABEL: func.func private @merged
// CHECK-SAME: #dash.sequences<4 x [5, 6], [5, 7], 2 x [5, 6]>
func.func private @merged()
  attributes {a = #dash.sequences<[5, 6], 2 x [5, 6], 1 x [5, 6], [5, 7], [5, 6], [5, 6]>}

// A long list is short text.
// CHECK-LABEL: func.func private @longest
// CHECK-SAME: #dash.sequences<1048576 x [1, 2]>
func.func private @longest() attributes {a = #dash.sequences<1048576 x [1, 2]>}
