//===- VerifyWaits.h - nothing is read or written too early ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_VERIFYWAITS_H
#define DASH_LIB_LOWERING_VERIFYWAITS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// On every path through every role: sums are waited for before they are used, slots are full when they are read and
/// empty when they are written, and nothing in flight reads a slot that is given back. Errors stand at the op that is
/// too early.
LogicalResult verifyWaits(WorkersOp workers);

/// Along every path the role gives on as many slots as it waits for: else the channel's other end stops for ever.
LogicalResult verifyBalance(RoleOp role);

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_VERIFYWAITS_H
