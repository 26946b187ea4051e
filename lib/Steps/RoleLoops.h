//===- RoleLoops.h - the loops of one role ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_ROLELOOPS_H
#define DASH_LIB_STEPS_ROLELOOPS_H

#include "dash/IR/DashOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dash {

/// How often an item uses each channel of steps behind its walk.
using ItemUses = llvm::MapVector<Value, int64_t>;

/// Replaces the items of one role by loops over its worker's list, in which each use of a channel
/// has a number. A consumer's loops read headers of slots, the others' the order buffer.
LogicalResult writeRoleLoops(RoleOp role, const ItemUses &itemUses);

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_ROLELOOPS_H
