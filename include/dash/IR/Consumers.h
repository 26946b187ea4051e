//===- Consumers.h - roles that read channels, and that multiply -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_CONSUMERS_H
#define DASH_IR_CONSUMERS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// The roles that wait for a channel's tiles, in the worker's order. Each gives every slot back. A
/// slot is empty when all warpgroups of all of them have.
SmallVector<RoleOp> getReaders(ChannelOp channel);

/// Warpgroups of all consumers. Copies of a split consumer stand together, in order: a copy that
/// does not follow the one before it is one of another consumer.
int64_t getNumMultiplying(WorkersOp workers);
/// The number, among these, of the first warpgroup of a consumer, or of the one that this is a copy
/// of.
int64_t getFirstMultiplying(RoleOp consumer);

} // namespace mlir::dash

#endif // DASH_IR_CONSUMERS_H
