//===- TracedOps.h - what a trace records of a role -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_TRACEDOPS_H
#define DASH_LIB_STEPS_TRACEDOPS_H

#include "dash/IR/DashOps.h"
#include "dash/IR/SlotAccess.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dash {

/// Computes a tile from tiles, without effects on slots, products or sums: these pass the tile to
/// it.
bool isElementwise(Operation *op);
/// A wait for products between elementwise ops. A clock there would keep the ops in front of it
/// from moving behind it, and threads have no registers for what they compute.
bool isAmongElementwise(Operation *op);

std::optional<Sync> findSync(Operation *op, SyncKind kind);
std::optional<SumAccess> findSum(Operation *op, SumAction action);

/// The next and the previous op that is not just a computation of numbers.
Operation *nextOf(Operation *op);
Operation *previousOf(Operation *op);

StringRef nameOf(Value channel);
/// Such as `k*q^T`.
std::string nameOfProduct(MatmulOp op);
/// The use of the slot that a product reads. If there are two, it is that of the step, whose number
/// is defined further inside.
Value useOfProduct(MatmulOp op);

RingOp ringOf(Value slot);
/// The use of the slot that a reducer adds: that of the next wait for a slot, or of the add.
RingOp slotAdded(Operation *op, bool isBehind);
/// The op that gives on the turn that an op takes, in the same block; null if there is none, or if
/// something between them waits, or takes or gives a turn, in a region of its own.
Operation *giveBehind(Operation *take);

/// A role's loops over the items of its worker's list.
SmallVector<scf::ForOp> itemLoops(RoleOp role);

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_TRACEDOPS_H
