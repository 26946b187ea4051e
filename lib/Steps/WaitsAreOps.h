//===- WaitsAreOps.h - whether passes run after waits are ops ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_WAITSAREOPS_H
#define DASH_LIB_STEPS_WAITSAREOPS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Refuses workers whose channels still have puts and waits: where a role waits, nothing says yet.
LogicalResult checkWaitsAreOps(WorkersOp workers);

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_WAITSAREOPS_H
