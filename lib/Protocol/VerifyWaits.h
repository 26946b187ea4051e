//===- VerifyWaits.h - checks along a role's paths --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_VERIFYWAITS_H
#define DASH_LIB_PROTOCOL_VERIFYWAITS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

struct HeldSlots;

/// Checks that the op uses no sums of a product in flight, and is not a product that must be
/// complete where it stands.
LogicalResult verifySums(Operation *op, const HeldSlots &state);
/// Applies the op's stated effects to what its role holds: slots, turns, products.
LogicalResult followOp(Operation *op, HeldSlots &state);
/// Follows products that the op begins or waits for. Precondition: its accesses are correct.
LogicalResult followProducts(Operation *op, HeldSlots &state);

/// Checks that along every path the role passes on as many slots as it waits for. Otherwise the
/// channel's other end stops forever.
LogicalResult verifyBalance(RoleOp role);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_VERIFYWAITS_H
