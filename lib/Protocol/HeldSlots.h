//===- HeldSlots.h - slots that a role may read or write --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_HELDSLOTS_H
#define DASH_LIB_PROTOCOL_HELDSLOTS_H

#include "dash/IR/DashOps.h"
#include "dash/Steps/SlotUse.h"

namespace mlir::dash {

/// A slot that the role may read (it is full) or write (it is empty), and the obligations of its
/// threads.
struct HeldSlot {
  SlotUse slot;
  BarrierSide side;
  bool isBorrowed = false; ///< for results that leave through it
  bool isUnfenced = false; ///< written by threads; copy engine and tensor core cannot see it yet
  bool isUnmet = false;    ///< written, or unfenced, since the last barrier of the warpgroup
  /// by threads, without a fence since: a copy into it might overtake the read
  bool isRead = false;
  /// by products, since the last barrier of the warpgroup: those of other warps may go on
  bool isReadByProducts = false;
  bool isTaken = false; ///< a result lies there, in place of what was loaded

  bool isOf(const HeldSlot &other) const {
    return slot == other.slot && side == other.side && isBorrowed == other.isBorrowed;
  }
  bool operator==(const HeldSlot &other) const {
    return isOf(other) && isUnfenced == other.isUnfenced && isUnmet == other.isUnmet &&
           isRead == other.isRead && isReadByProducts == other.isReadByProducts &&
           isTaken == other.isTaken;
  }
  void addDebts(const HeldSlot &other) {
    isUnfenced |= other.isUnfenced;
    isUnmet |= other.isUnmet;
    isRead |= other.isRead;
    isReadByProducts |= other.isReadByProducts;
    isTaken |= other.isTaken;
  }
};

/// A slot from which one thread has begun a copy.
struct LeavingSlot {
  Value channel;
  /// none if an earlier iteration of a loop used it: then it may be any
  std::optional<LinearIndex> use;
  bool isRead = false; ///< the copying thread knows that the copy has read it; the others do not

  bool isOf(const LeavingSlot &other) const { return channel == other.channel && use == other.use; }
  bool operator==(const LeavingSlot &other) const { return isOf(other) && isRead == other.isRead; }
  bool mayBe(const SlotUse &slot) const {
    return channel == slot.channel && (!use || mayShareSlot({channel, *use}, slot));
  }
};

struct ProductInFlight {
  mutable MatmulOp op; // ops are handles, their methods are not const
  SmallVector<SlotUse> reads;
};

/// What is known about a role at a point of its program.
struct HeldSlots {
  SmallVector<HeldSlot> held;
  SmallVector<LeavingSlot> leaving;
  SmallVector<ProductInFlight> inFlight; ///< oldest first
  bool isTurnUnfenced = false;           ///< acquired; the copy engine that adds cannot see it yet

  bool isInFlight(MatmulOp op) const {
    return llvm::any_of(inFlight, [&](const ProductInFlight &one) { return one.op == op; });
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
  /// Keeps slots that both sides know, and the obligations of either.
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

  /// A proxy fence by all threads.
  void fenceShared() {
    for (HeldSlot &one : held)
      one.isUnfenced = one.isRead = false;
  }
  /// The thread that began the copies knows that they have read.
  void waitForCopies() {
    for (LeavingSlot &one : leaving)
      one.isRead = true;
  }
  /// A barrier of the warpgroup's threads.
  void syncWarpgroup() {
    for (HeldSlot &one : held) {
      one.isUnmet &= one.isUnfenced;
      one.isReadByProducts = false;
    }
    llvm::erase_if(leaving, [](const LeavingSlot &one) { return one.isRead; });
  }
};

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_HELDSLOTS_H
