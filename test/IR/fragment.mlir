// RUN: dash-opt %s | dash-opt | FileCheck %s
// RUN: dash-opt --emit-bytecode %s | dash-opt | FileCheck %s
// RUN: dash-opt --mlir-print-op-generic %s | dash-opt | FileCheck %s

// Each kind, split by rows and by columns among as many warpgroups as share the tile.
// CHECK-LABEL: func.func private @fragments(
// CHECK-SAME:    !acc_128x64_rows2,
// CHECK-SAME:    !acc_64x128_columns2,
// CHECK-SAME:    !operand_128x64xbf16_rows2,
// CHECK-SAME:    !operand_64x64xf16_rows1,
// CHECK-SAME:    !per_column_64_replicated2,
// CHECK-SAME:    !per_row_128_rows2,
// CHECK-SAME:    !per_row_128x4_rows2)
func.func private @fragments(
    tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>,
    tensor<64x128xf32, #dash.fragment<accumulator, columns by 2>>,
    tensor<128x64xbf16, #dash.fragment<operand, rows by 2>>,
    tensor<64x64xf16, #dash.fragment<operand, rows by 1>>,
    tensor<64xf32, #dash.fragment<per_column, replicated by 2>>,
    tensor<128xf32, #dash.fragment<per_row, rows by 2>>,
    tensor<128x4xf32, #dash.fragment<per_row, rows by 2>>)
