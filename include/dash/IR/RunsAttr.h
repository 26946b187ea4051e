//===- RunsAttr.h - kernels whose parts are runs of q tiles ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_RUNSATTR_H
#define DASH_IR_RUNSATTR_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dash {

/// On a `gpu.module` whose order is formulas: its parts are runs of a head's q tiles
/// (dash/IR/PartCut.h), so the entry that evaluates the formulas cuts lines of visits.
constexpr llvm::StringLiteral runsAttr = "dash.runs";

} // namespace mlir::dash

#endif // DASH_IR_RUNSATTR_H
