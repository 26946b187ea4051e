// RUN: dash-opt %s -verify-diagnostics -split-input-file

// Half a panel has no place of its own.
// expected-error @below {{#dash.swizzled needs rows that are a multiple of 8 and columns that are a multiple of 64, of 16-bit floats, got 64x32 of 'bf16'}}
func.func private @half_a_panel(tensor<64x32xbf16, #dash.swizzled>)

// -----

// The pattern repeats after eight rows.
// expected-error @below {{#dash.swizzled needs rows that are a multiple of 8 and columns that are a multiple of 64, of 16-bit floats, got 60x64 of 'bf16'}}
func.func private @rows_in_eights(tensor<60x64xbf16, #dash.swizzled>)

// -----

// A row of a panel is 128 bytes.
// expected-error @below {{#dash.swizzled needs rows that are a multiple of 8 and columns that are a multiple of 64, of 16-bit floats, got 64x64 of 'f32'}}
func.func private @pairs_of_bytes(tensor<64x64xf32, #dash.swizzled>)

// -----

// A vector is not swizzled.
// expected-error @below {{#dash.swizzled needs rows that are a multiple of 8 and columns that are a multiple of 64, of 16-bit floats, got 64 of 'bf16'}}
func.func private @two_dimensions(tensor<64xbf16, #dash.swizzled>)

// -----

// MLIR asks whether an encoding fits a type that it could not read.
// expected-error @below {{expected non-function type}}
func.func private @element_is_missing(tensor<64x64x, #dash.swizzled>)

// -----

// 32 columns a panel, and 16.
// expected-error @below {{#dash.swizzled<64> needs rows that are a multiple of 8 and columns that are a multiple of 32, of 16-bit floats, got 64x48 of 'bf16'}}
func.func private @panels_of_64_bytes(tensor<64x48xbf16, #dash.swizzled<64>>)

// -----

// expected-error @below {{#dash.swizzled<32> needs rows that are a multiple of 8 and columns that are a multiple of 16, of 16-bit floats, got 64x24 of 'f16'}}
func.func private @panels_of_32_bytes(tensor<64x24xf16, #dash.swizzled<32>>)

// -----

// The chip has these swizzles.
// expected-error @below {{rows of panels must be 32, 64 or 128 bytes, got 96}}
func.func private @other_bytes(tensor<64x96xbf16, #dash.swizzled<96>>)
