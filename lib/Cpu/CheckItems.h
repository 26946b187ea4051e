//===- CheckItems.h - what loops need from scheduled items ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_CHECKITEMS_H
#define DASH_LIB_CPU_CHECKITEMS_H

#include "LoopBuilder.h"
#include "dash/IR/Problem.h"
#include "dash/IR/TensorRoles.h"

namespace mlir::dash {

/// Every add goes to the chain and the turn that the order gives it, and no two adds share a
/// target.
LogicalResult verifyAdds(ItemsOp items);

/// Whole tensors have the sizes that the order was made for. Static types are checked here; for
/// dynamic ones the program checks when it starts.
LogicalResult emitSizeChecks(LoopBuilder &b, ItemsOp items, const Problem &problem);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_CHECKITEMS_H
