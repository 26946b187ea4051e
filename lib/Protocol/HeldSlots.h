//===- HeldSlots.h - what a role may do with which slots -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_HELDSLOTS_H
#define DASH_LIB_PROTOCOL_HELDSLOTS_H

#include "dash/IR/DashOps.h"
#include "dash/Steps/SlotUse.h"

namespace mlir::dash {

/// A slot that the role may read (it is full) or write (it is empty), and what its threads still owe to others.
struct HeldSlot {
  SlotUse slot;
  BarrierSide side;
  bool isBorrowed = false; ///< for results that leave through it
  bool isUnfenced = false; ///< written by threads, and not yet seen by copy engine and tensor core
  bool isUnmet = false;    ///< written, or unfenced, since the warpgroup's threads have met
  bool isRead = false;     ///< by threads, in front of no fence: a copy into it might overtake

  bool isOf(const HeldSlot &other) const {
    return slot == other.slot && side == other.side && isBorrowed == other.isBorrowed;
  }
  bool operator==(const HeldSlot &other) const {
    return isOf(other) && isUnfenced == other.isUnfenced && isUnmet == other.isUnmet &&
           isRead == other.isRead;
  }
  void addDebts(const HeldSlot &other) {
    isUnfenced |= other.isUnfenced;
    isUnmet |= other.isUnmet;
    isRead |= other.isRead;
  }
};

/// A slot out of which one thread's copy has begun.
struct LeavingSlot {
  Value channel;
  std::optional<LinearIndex> use; ///< none if an earlier turn of a loop used it: then it may be any
  bool isRead = false; ///< the thread knows that the copy has read, and the others do not

  bool isOf(const LeavingSlot &other) const { return channel == other.channel && use == other.use; }
  bool operator==(const LeavingSlot &other) const { return isOf(other) && isRead == other.isRead; }
  bool mayBe(const SlotUse &slot) const {
    return channel == slot.channel && (!use || mayShareSlot({channel, *use}, slot));
  }
};

struct Product {
  mutable MatmulOp op; // ops are handles, their methods are not const
  SmallVector<SlotUse> reads;
};

/// What is known of a role at a place of its program.
struct HeldSlots {
  SmallVector<HeldSlot> held;
  SmallVector<LeavingSlot> leaving;
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
  void leave(const LeavingSlot &slot) {
    auto *same =
        llvm::find_if(leaving, [&](const LeavingSlot &another) { return slot.isOf(another); });
    if (same == leaving.end())
      leaving.push_back(slot);
    else
      same->isRead &= slot.isRead;
  }
  /// Slots that both know, and the debts of either.
  void meet(const HeldSlots &other) {
    for (const LeavingSlot &slot : other.leaving)
      leave(slot);
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
    return held == other.held && leaving == other.leaving && isTurnUnfenced == other.isTurnUnfenced;
  }

  /// A proxy fence of all threads.
  void fenceShared() {
    for (HeldSlot &one : held)
      one.isUnfenced = one.isRead = false;
  }
  /// Whoever has begun copies knows that they have read.
  void waitForCopies() {
    for (LeavingSlot &one : leaving)
      one.isRead = true;
  }
  /// A barrier of the warpgroup's threads.
  void syncWarpgroup() {
    for (HeldSlot &one : held)
      one.isUnmet &= one.isUnfenced;
    llvm::erase_if(leaving, [](const LeavingSlot &one) { return one.isRead; });
  }
};

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_HELDSLOTS_H
