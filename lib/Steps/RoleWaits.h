//===- RoleWaits.h - every wait, fence and arrival of a role ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_ROLEWAITS_H
#define DASH_LIB_STEPS_ROLEWAITS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Makes an op of every wait, fence and arrival of a role whose uses of channels have numbers. Of a warp one lane arrives, or each of
/// its threads for itself.
LogicalResult insertWaits(RoleOp role, bool threadsArrive);

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_ROLEWAITS_H
