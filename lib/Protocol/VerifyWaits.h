//===- VerifyWaits.h - what a role owes along its paths --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_VERIFYWAITS_H
#define DASH_LIB_PROTOCOL_VERIFYWAITS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

struct HeldSlots;

/// The op uses no sums of a product in flight, and is itself no product that is complete where it stands.
LogicalResult verifySums(Operation *op, const HeldSlots &state);
/// What the op does to what its role holds, as it says: slots, turns, products.
LogicalResult followOp(Operation *op, HeldSlots &state);
/// Products that the op begins, and waits for. Its accesses are right.
LogicalResult followProducts(Operation *op, HeldSlots &state);

/// Along every path the role gives on as many slots as it waits for: else the channel's other end stops for ever.
LogicalResult verifyBalance(RoleOp role);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_VERIFYWAITS_H
