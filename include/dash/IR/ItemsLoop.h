//===- ItemsLoop.h - the loop of a role over its worker's list --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_ITEMSLOOP_H
#define DASH_IR_ITEMSLOOP_H

#include "dash/IR/DashOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dash {

/// The loop over items that `--dash-read-order` has made, or none.
inline scf::ForOp findItemsLoop(RoleOp role) {
  for (auto loop : role.getBody().getOps<scf::ForOp>())
    if (loop.getUpperBound().getDefiningOp<NumItemsOp>())
      return loop;
  return scf::ForOp();
}

/// The loops of consumers that begin items ahead; or an error.
inline FailureOr<SmallVector<scf::ForOp>> findLoopsAhead(Operation *root) {
  SmallVector<scf::ForOp> loops;
  WalkResult result = root->walk([&](RoleOp role) -> WalkResult {
    if (!role.isConsumer() || !cast<WorkersOp>(role->getParentOp()).getBeginsAhead())
      return WalkResult::advance();
    scf::ForOp loop = findItemsLoop(role);
    if (!loop)
      return role.emitError() << "has no loop over items; run --dash-read-order first";
    loops.push_back(loop);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return loops;
}

/// The number of steps of the item behind the last, with which a role is told that it ends.
constexpr int64_t noItemIsLeft = -1;

} // namespace mlir::dash

#endif // DASH_IR_ITEMSLOOP_H
