//===- CombineLoops.h - pieces of a row put together -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_COMBINELOOPS_H
#define DASH_LIB_CPU_COMBINELOOPS_H

#include "LoopBuilder.h"
#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// `dash.combine`, for all rows. Pieces that a sequence does not have hold -inf, which is neutral.
void emitCombine(LoopBuilder &b, CombineOp op);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_COMBINELOOPS_H
