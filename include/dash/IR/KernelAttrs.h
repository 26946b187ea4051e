//===- KernelAttrs.h - attributes on ops of other dialects ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of the discardable attributes that dash knows. lib/IR/KnownAttrs.cpp states the type and
// place of each, and refuses all others.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_IR_KERNELATTRS_H
#define DASH_IR_KERNELATTRS_H

#include "dash/IR/DashAttrs.h"

namespace mlir::dash {

/// On a `gpu.module`: `#dash.program`, the description of its kernels.
constexpr llvm::StringLiteral programAttr = "dash.program";
/// On a `gpu.module` whose order is formulas: `#dash.formulas`.
constexpr llvm::StringLiteral formulasAttr = "dash.formulas";
/// On a `gpu.module` whose launches deal items by work: `#dash.deal`.
constexpr llvm::StringLiteral dealAttr = "dash.deal";
/// On a `gpu.module` or `gpu.binary` whose order is a table: the order buffer, dense i32 words.
constexpr llvm::StringLiteral orderBufferAttr = "dash.order_buffer";
/// On a `gpu.binary`: the manifest of its content, a string.
constexpr llvm::StringLiteral manifestAttr = "dash.manifest";

/// On a function that is launched: `#dash.entry`.
constexpr llvm::StringLiteral entryAttr = "dash.entry";
/// On an argument of such a function: the name that tells a launcher its value.
constexpr llvm::StringLiteral parameterAttr = "dash.parameter";

/// On a function that is a program: the `#dash.problem` that it serves, or an array of several.
constexpr llvm::StringLiteral problemAttr = "dash.problem";
/// On such a function: the roles of its tensors, an array of `#dash.tensor_role`, in the order that
/// callers use.
constexpr llvm::StringLiteral tensorsAttr = "dash.tensors";
/// On such a function, lowered to loops, with capped scores: the softcap, an f32 number.
constexpr llvm::StringLiteral softcapAttr = "dash.softcap";
/// On an argument of such a function: its role, `#dash.tensor_role`, or an array of several; and
/// its sizes.
constexpr llvm::StringLiteral tensorAttr = "dash.tensor";
constexpr llvm::StringLiteral argumentShapeAttr = "dash.shape";

/// The symbol of a function's `gpu.module` is the function's with this suffix.
constexpr llvm::StringLiteral kernelsSuffix = "_kernels";

} // namespace mlir::dash

#endif // DASH_IR_KERNELATTRS_H
