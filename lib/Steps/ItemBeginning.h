//===- ItemBeginning.h - what an item's first product needs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_ITEMBEGINNING_H
#define DASH_LIB_STEPS_ITEMBEGINNING_H

#include "dash/IR/DashOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dash {

/// The first product of a consumer's item, and what leads to it: waits, the numbers of their uses,
/// factors that are loaded into registers, and releases of slots that these leave free.
struct ItemBeginning {
  llvm::SetVector<Operation *> ops; ///< in their order

  SmallVector<WaitOp> getWaits() const;
  bool waitsFor(Value channel) const;
  bool releases(Value channel) const;
};

/// The beginning of an item in a consumer's loop over items, whose walk is peeled; or an error.
FailureOr<ItemBeginning> findItemBeginning(scf::ForOp loop);

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_ITEMBEGINNING_H
