//===- Arguments.h - which argument is which tensor ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_ARGUMENTS_H
#define DASH_IR_ARGUMENTS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dash {

/// Attributes that tell a caller of a lowered function what its arguments are.
constexpr llvm::StringLiteral argumentNameAttr = "dash.name";   ///< of an argument: "q", "dk", ...
constexpr llvm::StringLiteral argumentShapeAttr = "dash.shape"; ///< of an argument: its sizes
constexpr llvm::StringLiteral problemAttr = "dash.problem";     ///< of the function

} // namespace mlir::dash

#endif // DASH_IR_ARGUMENTS_H
