//===- HeldSlots.h - what a role may do with which slots -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_HELDSLOTS_H
#define DASH_LIB_LOWERING_HELDSLOTS_H

#include "SlotUse.h"
#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// A slot that the role may read (it is full) or write (it is empty), and what its threads still owe to others.
struct HeldSlot {
  SlotUse slot;
  BarrierSide side;
  bool isUnfenced = false; ///< written by threads, and not yet seen by copy engine and tensor core
  bool isUnmet = false;    ///< written, or unfenced, since the warpgroup's threads have met
  bool isCopied = false;   ///< one thread's copy has read it, which the others do not know
  bool isRead = false;     ///< by threads, in front of no fence: a copy into it might overtake

  bool isOf(const HeldSlot &other) const { return slot == other.slot && side == other.side; }
  bool operator==(const HeldSlot &other) const {
    return isOf(other) && isUnfenced == other.isUnfenced && isUnmet == other.isUnmet &&
           isCopied == other.isCopied && isRead == other.isRead;
  }
  void addDebts(const HeldSlot &other) {
    isUnfenced |= other.isUnfenced;
    isUnmet |= other.isUnmet;
    isCopied |= other.isCopied;
    isRead |= other.isRead;
  }
};

struct Product {
  mutable MatmulOp op; // ops are handles, their methods are not const
  SmallVector<SlotUse> reads;
};

/// What is known of a role at a place of its program.
struct HeldSlots {
  SmallVector<HeldSlot> held;
  SmallVector<Product> inFlight; ///< oldest first
  bool isTurnUnfenced = false;   ///< acquired, and not yet seen by the copy engine that adds

  bool isInFlight(MatmulOp op) const {
    return llvm::any_of(inFlight, [&](const Product &one) { return one.op == op; });
  }
  HeldSlot *find(const SlotUse &slot) {
    auto *found = llvm::find_if(held, [&](const HeldSlot &one) { return one.slot == slot; });
    return found == held.end() ? nullptr : found;
  }
  void drop(const SlotUse &slot) {
    llvm::erase_if(held, [&](const HeldSlot &one) { return one.slot == slot; });
  }
  /// Slots that both know, and the debts of either.
  void meet(const HeldSlots &other) {
    isTurnUnfenced |= other.isTurnUnfenced;
    llvm::erase_if(held, [&](HeldSlot &one) {
      auto *same =
          llvm::find_if(other.held, [&](const HeldSlot &another) { return one.isOf(another); });
      if (same == other.held.end())
        return true;
      one.addDebts(*same);
      return false;
    });
  }
  bool knowsAsMuchAs(const HeldSlots &other) const {
    return held == other.held && isTurnUnfenced == other.isTurnUnfenced;
  }

  /// A proxy fence of all threads.
  void fenceShared() {
    for (HeldSlot &one : held)
      one.isUnfenced = one.isRead = false;
  }
  /// A barrier of the warpgroup's threads.
  void syncWarpgroup() {
    for (HeldSlot &one : held) {
      one.isUnmet &= one.isUnfenced;
      one.isCopied = false;
    }
  }
};

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_HELDSLOTS_H
