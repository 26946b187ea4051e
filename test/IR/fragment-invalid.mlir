// RUN: dash-opt %s -verify-diagnostics -split-input-file

// At least one warpgroup holds it.
// expected-error @below {{warpgroups must be from 1 to 8, got 0}}
func.func private @no_warpgroup(tensor<64x64xf32, #dash.fragment<accumulator, rows by 0>>)

// -----

// A block has no more.
// expected-error @below {{warpgroups must be from 1 to 8, got 9}}
func.func private @too_many_warpgroups(tensor<64x64xf32, #dash.fragment<accumulator, rows by 9>>)

// -----

// 64 rows for each warpgroup.
// expected-error @below {{#dash.fragment<accumulator, rows by 2> needs 128 rows, 64 a warpgroup, got 64x128}}
func.func private @rows_of_warpgroups(tensor<64x128xf32, #dash.fragment<accumulator, rows by 2>>)

// -----

// All warpgroups have the same 64 rows.
// expected-error @below {{#dash.fragment<accumulator, columns by 2> needs 64 rows and a multiple of 16 columns, got 128x64}}
func.func private @columns_of_warpgroups(tensor<128x64xf32, #dash.fragment<accumulator, columns by 2>>)

// -----

// Eight columns are what four lanes hold together.
// expected-error @below {{#dash.fragment<accumulator, columns by 2> needs 64 rows and a multiple of 16 columns, got 64x72}}
func.func private @columns_of_lanes(tensor<64x72xf32, #dash.fragment<accumulator, columns by 2>>)

// -----

// A left factor has the rows of the result.
// expected-error @below {{an operand is split by rows, got columns}}
func.func private @operand_of_columns(tensor<64x128xbf16, #dash.fragment<operand, columns by 2>>)

// -----

// Sums are split: two warpgroups do not compute one of them.
// expected-error @below {{an accumulator is split by rows or columns, got replicated}}
func.func private @replicated_sums(tensor<64x128xf32, #dash.fragment<accumulator, replicated by 2>>)

// -----

// Every warpgroup needs the numbers of all columns.
// expected-error @below {{numbers per column are replicated in each warpgroup, got rows}}
func.func private @numbers_split_by_rows(tensor<64xf32, #dash.fragment<per_column, rows by 2>>)

// -----

// A number for each column, in each warpgroup.
// expected-error @below {{#dash.fragment<per_column, replicated by 2> needs a multiple of 16 elements in one dimension, got 64x64}}
func.func private @row_of_a_tile(tensor<64x64xf32, #dash.fragment<per_column, replicated by 2>>)

// -----

// Sums are not rounded.
// expected-error @below {{an accumulator holds f32, got 'bf16'}}
func.func private @rounded_sums(tensor<64x64xbf16, #dash.fragment<accumulator, rows by 1>>)

// -----

// Factors are.
// expected-error @below {{an operand holds 16-bit floats, got 'f32'}}
func.func private @factor_of_f32(tensor<64x64xf32, #dash.fragment<operand, rows by 1>>)

// -----

// A type that cannot be read is one error, the parser's.
// expected-error @below {{undefined symbol alias id 'bf16'}}
func.func @no_such_element(%tile: tensor<64x64x!bf16, #dash.fragment<operand, rows by 1>>) {
  return
}

// -----

// Numbers of rows are where the rows are.
// expected-error @below {{numbers per row are split by rows, got replicated}}
func.func private @replicated_rows(tensor<128xf32, #dash.fragment<per_row, replicated by 2>>)

// -----

// A row has one number, or one for each thread that holds it.
// expected-error @below {{#dash.fragment<per_row, rows by 2> needs 128 rows, 64 a warpgroup, and 1 or 4 columns, got 128x64}}
func.func private @columns_of_rows(tensor<128x64xf32, #dash.fragment<per_row, rows by 2>>)

// -----

// expected-error @below {{#dash.fragment<per_row, rows by 2> needs 128 rows, 64 a warpgroup, and 1 or 4 columns, got 64}}
func.func private @rows_of_rows(tensor<64xf32, #dash.fragment<per_row, rows by 2>>)
