//===- RoleWaits.h - every wait, fence and arrival of a role ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_ROLEWAITS_H
#define DASH_LIB_STEPS_ROLEWAITS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Inserts an op for every wait, fence and arrival of a role whose uses of channels have numbers.
/// One lane of a warp arrives, or each thread.
LogicalResult insertWaits(RoleOp role, bool threadsArrive);

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_ROLEWAITS_H
