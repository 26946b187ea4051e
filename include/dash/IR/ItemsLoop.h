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

/// The number of steps of the item behind the last, with which a role is told that it ends.
constexpr int64_t noItemIsLeft = -1;

} // namespace mlir::dash

#endif // DASH_IR_ITEMSLOOP_H
