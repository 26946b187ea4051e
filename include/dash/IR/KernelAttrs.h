//===- KernelAttrs.h - attributes on ops of other dialects ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of the discardable attributes that dash knows; lib/IR/KnownAttrs.cpp says of each what it is and
// where it may stand, and refuses all others.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_IR_KERNELATTRS_H
#define DASH_IR_KERNELATTRS_H

#include "dash/IR/DashAttrs.h"

namespace mlir::dash {

/// Of a `gpu.module`: `#dash.program`, what its kernels say of themselves.
constexpr llvm::StringLiteral programAttr = "dash.program";
/// Of a `gpu.module` whose order is formulas: `#dash.formulas`.
constexpr llvm::StringLiteral formulasAttr = "dash.formulas";
/// Of a `gpu.module` or `gpu.binary` whose order is a table: the order buffer, dense i32 words.
constexpr llvm::StringLiteral orderBufferAttr = "dash.order_buffer";
/// Of a `gpu.binary`: the manifest of what it holds, a string.
constexpr llvm::StringLiteral manifestAttr = "dash.manifest";

/// Of a function that is launched: `#dash.entry`.
constexpr llvm::StringLiteral entryAttr = "dash.entry";
/// Of an argument of such a function: the name from which a launcher knows its value.
constexpr llvm::StringLiteral parameterAttr = "dash.parameter";

/// Of a function that is a program: the `#dash.problem` that it serves, or an array of several.
constexpr llvm::StringLiteral problemAttr = "dash.problem";
/// Of such a function: what its tensors are, an array of `#dash.tensor_role`, in the order in which callers know them.
constexpr llvm::StringLiteral tensorsAttr = "dash.tensors";
/// Of such a function, lowered to loops, whose scores are capped: the softcap, an f32 number.
constexpr llvm::StringLiteral softcapAttr = "dash.softcap";
/// Of an argument of such a function: what it is to the program, `#dash.tensor_role`, or an array of several; and its sizes.
constexpr llvm::StringLiteral tensorAttr = "dash.tensor";
constexpr llvm::StringLiteral argumentShapeAttr = "dash.shape";

/// The symbol of a function's `gpu.module` is its own with this behind it.
constexpr llvm::StringLiteral kernelsSuffix = "_kernels";

} // namespace mlir::dash

#endif // DASH_IR_KERNELATTRS_H
