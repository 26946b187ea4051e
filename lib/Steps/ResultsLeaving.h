//===- ResultsLeaving.h - slots that copies may still read -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_RESULTSLEAVING_H
#define DASH_LIB_STEPS_RESULTSLEAVING_H

#include "dash/Steps/SlotUse.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dash {

/// The slots through which a role's results leave, along its program: a copy may still read them.
class ResultsLeaving {
public:
  /// What may leave at a place.
  struct Slots {
    bool isAny = false;         ///< of the role's channels, since an earlier turn of a loop
    SmallVector<SlotUse> known; ///< since

    void join(const Slots &other);
  };

  /// Before its stores are lowered.
  explicit ResultsLeaving(RoleOp role);

  void begin(const SlotUse &slot) { slots.known.push_back(slot); }
  /// Until copies have read the slot: one thread has begun them, and waits; the others meet it.
  void waitFor(ImplicitLocOpBuilder &b, const SlotUse &slot);
  /// Before the first turn of a loop it stands for all of them.
  void enterLoop(Operation *loop);

  /// To go on from on another way.
  Slots slots;

private:
  llvm::SmallDenseSet<Value, 2> channels; ///< looked up only
};

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_RESULTSLEAVING_H
