//===- ResultsLeaving.h - slots that copies may still read -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_RESULTSLEAVING_H
#define DASH_LIB_STEPS_RESULTSLEAVING_H

#include "dash/Steps/SlotUse.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dash {

/// Tracks, along a role's program, the slots through which its results leave: a copy may still read
/// them.
class ResultsLeaving {
public:
  /// Slots that a copy may read at a point of the program.
  struct Slots {
    /// any slot of the role's channels, from an earlier iteration of a loop
    bool isAny = false;
    SmallVector<SlotUse> known; ///< those since then

    void join(const Slots &other);
  };

  /// Must be made before the role's stores are lowered.
  explicit ResultsLeaving(RoleOp role);

  void begin(const SlotUse &slot) { slots.known.push_back(slot); }
  /// Waits until copies have read the slot: the thread that began them waits, and the others meet
  /// it at a barrier.
  void waitFor(ImplicitLocOpBuilder &b, const SlotUse &slot);
  /// The same, in front of the release of a slot in which the result took the place of a tile.
  void waitForTaken(ImplicitLocOpBuilder &b, const SlotUse &slot);
  /// Before its first iteration, a loop's state stands for all of them.
  void enterLoop(Operation *loop);

  /// Restored to continue on another path.
  Slots slots;

private:
  void wait(ImplicitLocOpBuilder &b);

  llvm::SmallDenseSet<Value, 2> channels; ///< looked up only
};

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_RESULTSLEAVING_H
