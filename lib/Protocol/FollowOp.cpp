//===- FollowOp.cpp - how an op changes what its role holds ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces describe ops here: accesses to slots, waits and arrivals, turns.
//
//===----------------------------------------------------------------------===//

#include "HeldSlots.h"
#include "SlotRing.h"
#include "VerifyWaits.h"

using namespace mlir;
using namespace mlir::dash;

static FailureOr<SlotUse> useOf(Operation *op, const SlotRef &slot) {
  FailureOr<RingOp> ring = ringOf(op, slot);
  if (failed(ring))
    return failure();
  return *slotUseOf(slot);
}
static StringRef nameOf(Value channel) { return channel.getDefiningOp<ChannelOp>().getName(); }
/// Only threads write and read the slot, so nothing is there for a proxy fence to order.
static bool passesRegisters(const SlotUse &slot) {
  return slot.channel.getDefiningOp<ChannelOp>().passesRegisters();
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

static LogicalResult checkReaders(Operation *op, const SlotUse &slot, const HeldSlots &state) {
  for (const ProductInFlight &product : state.inFlight)
    if (llvm::is_contained(product.reads, slot)) {
      auto diagnostic = op->emitError() << "a product in flight still reads this slot of channel '"
                                        << nameOf(slot.channel) << "': wait for it first";
      return diagnostic.attachNote(product.op->getLoc()) << "this product";
    }
  return success();
}

static LogicalResult checkLeft(Operation *op, const SlotUse &slot, const HeldSlots &state,
                               StringRef verb) {
  auto mayBe = [&](const LeavingSlot &one) { return one.mayBe(slot); };
  if (llvm::none_of(state.leaving, mayBe))
    return success();
  return op->emitError() << verb << " a slot of channel '" << nameOf(slot.channel)
                         << "' that a copy of one thread may still read: that thread waits for "
                            "the copy, and the others meet it at a 'dash.sync_warpgroup' first";
}

/// No copy and no product in flight may still read it.
static LogicalResult checkFree(Operation *op, const SlotUse &slot, const HeldSlots &state) {
  return failure(failed(checkLeft(op, slot, state, "writes")) ||
                 failed(checkReaders(op, slot, state)));
}

static LogicalResult checkFenced(Operation *op, const HeldSlot &held) {
  if (!held.isUnfenced)
    return success();
  return op->emitError() << "hands on a slot of channel '" << nameOf(held.slot.channel)
                         << "' that threads have written without a proxy fence behind";
}

/// A result takes the place of a tile that the role has waited for: of the rows that its own
/// products have read.
static LogicalResult takePlace(Operation *op, HeldSlot &held) {
  if (held.isReadByProducts)
    return op->emitError() << "writes a slot of channel '" << nameOf(held.slot.channel)
                           << "' that products of other warps may still read: behind the wait for "
                              "them, warps meet at a 'dash.sync_warpgroup' first";
  held.isTaken = true;
  return success();
}

static LogicalResult checkEmpty(Operation *op, const SlotUse &slot, bool leaves, HeldSlots &state) {
  HeldSlot *held = state.find(slot);
  if (leaves && held && held->side == BarrierSide::Full)
    return takePlace(op, *held);
  if (!held || held->side == BarrierSide::Full)
    return op->emitError() << "writes a slot of channel '" << nameOf(slot.channel)
                           << "' that is not known to be empty: it stands before the wait, or "
                              "behind the arrival that gives the slot on";
  if (leaves != held->isBorrowed)
    return op->emitError() << (leaves ? "leaves through a slot of channel '"
                                      : "fills a slot of channel '")
                           << nameOf(slot.channel)
                           << (leaves ? "' that is not borrowed: its wait must say 'borrows'"
                                      : "' that is borrowed, and stays empty");
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static LogicalResult readSlot(Operation *op, const SlotAccess &access, const SlotUse &slot,
                              HeldSlots &state) {
  HeldSlot *held = state.find(slot);
  if (!held || held->side != BarrierSide::Full)
    return op->emitError() << "reads a slot of channel '" << nameOf(slot.channel)
                           << "' that is not known to be full: it stands before the wait, or "
                              "behind the arrival that gives the slot back";
  if (held->isTaken)
    return op->emitError() << "reads a slot of channel '" << nameOf(slot.channel)
                           << "' where a result lies that leaves";
  // No copy overtakes a name, and threads write indices.
  held->isRead |= access.kind == AccessKind::Read && access.by == AccessAgent::Threads &&
                  !access.isOfIndices() && !passesRegisters(slot);
  return success();
}

static LogicalResult writeSlot(Operation *op, const SlotAccess &access, const SlotUse &slot,
                               HeldSlots &state) {
  if (failed(checkEmpty(op, slot, access.isBorrowed(), state)))
    return failure();
  if (access.by == AccessAgent::Threads && !access.isOfIndices()) {
    HeldSlot *held = state.find(slot);
    held->isUnfenced = held->isUnmet = !passesRegisters(slot);
  }
  return checkFree(op, slot, state);
}

static LogicalResult copyOut(Operation *op, const SlotUse &slot, HeldSlots &state) {
  HeldSlot *held = state.find(slot);
  if (!held || !(held->isBorrowed || held->isTaken))
    return op->emitError() << "copies out of a slot of channel '" << nameOf(slot.channel)
                           << "' that is not borrowed: others may write and read it";
  if (failed(checkFenced(op, *held)))
    return failure();
  if (held->isUnmet)
    return op->emitError() << "copies rows of channel '" << nameOf(slot.channel)
                           << "' before all threads have fenced what they wrote there: they meet "
                              "at a 'dash.sync_warpgroup' first";
  state.leave({slot.channel, slot.use});
  return success();
}

static LogicalResult visit(Operation *op, const SlotAccess &access, HeldSlots &state) {
  FailureOr<SlotUse> slot = useOf(op, access.slot);
  if (failed(slot))
    return failure();
  if (access.kind == AccessKind::Write)
    return writeSlot(op, access, *slot, state);
  return access.isBorrowed() ? copyOut(op, *slot, state) : readSlot(op, access, *slot, state);
}

static LogicalResult visit(Operation *op, const SumAccess &access, HeldSlots &state) {
  state.isTurnUnfenced |= access.action == SumAction::Take;
  if (access.isContribution() && state.isTurnUnfenced)
    return op->emitError("changes sums behind the acquire of their turn without a proxy fence "
                         "(async.global) between: the copy engine may not see them yet");
  return success();
}

//===----------------------------------------------------------------------===//
// Waits, arrivals, fences
//===----------------------------------------------------------------------===//

static LogicalResult waitForSlot(Operation *op, const Sync &sync, HeldSlots &state) {
  FailureOr<SlotUse> slot = useOf(op, sync.slot);
  if (failed(slot))
    return failure();
  if (sync.phase != sync.slot.slot.getDefiningOp<RingOp>().getPhase())
    return op->emitError("slot and phase must be those of one use: results of one 'dash.ring'");
  state.drop(*slot);
  state.held.push_back({*slot, sync.side, sync.borrows});
  return success();
}

static LogicalResult arriveAtSlot(Operation *op, const Sync &sync, HeldSlots &state) {
  FailureOr<SlotUse> slot = useOf(op, sync.slot);
  if (failed(slot))
    return failure();
  HeldSlot *held = state.find(*slot);
  bool givesBack = sync.side == BarrierSide::Empty;
  if (!held || held->isBorrowed || (held->side == BarrierSide::Full) != givesBack)
    return op->emitError() << "gives a slot of channel '" << nameOf(slot->channel) << "' "
                           << (givesBack ? "back" : "on") << " that the role has not waited for";
  if (failed(checkFenced(op, *held)) || failed(checkReaders(op, *slot, state)))
    return failure();
  if (givesBack && held->isTaken && failed(checkLeft(op, *slot, state, "gives back")))
    return failure();
  if (givesBack && held->isRead)
    return op->emitError() << "gives back a slot of channel '" << nameOf(slot->channel)
                           << "' that threads have read without a proxy fence behind: the next "
                              "copy into it may come before";
  state.drop(*slot);
  return success();
}

static LogicalResult visit(Operation *op, const Sync &sync, HeldSlots &state) {
  switch (sync.kind) {
  case SyncKind::WaitForSlot:
    return waitForSlot(op, sync, state);
  case SyncKind::Arrive:
    return arriveAtSlot(op, sync, state);
  case SyncKind::Expect: {
    FailureOr<SlotUse> slot = useOf(op, sync.slot);
    return failure(failed(slot) || failed(checkEmpty(op, *slot, /*leaves=*/false, state)) ||
                   failed(checkFree(op, *slot, state)));
  }
  case SyncKind::WaitForCopies:
    if (sync.pending == 0)
      state.waitForCopies();
    return success();
  case SyncKind::FenceShared:
    return state.fenceShared(), success();
  case SyncKind::FenceGlobal:
    return state.isTurnUnfenced = false, success();
  case SyncKind::MeetWarpgroup:
    return state.syncWarpgroup(), success();
  case SyncKind::IssueProduct: // also of sums: followProducts
  case SyncKind::WaitForProducts:
  case SyncKind::CommitCopies:
  case SyncKind::TakeTensorCore: // involves several roles: --dash-verify-protocol
  case SyncKind::GiveTensorCore:
    return success();
  }
  llvm_unreachable("a kind of synchronisation");
}

LogicalResult dash::followOp(Operation *op, HeldSlots &state) {
  for (const SumAccess &access : sumAccessesOf(op))
    if (failed(visit(op, access, state)))
      return failure();
  for (const SlotAccess &access : accessesOf(op))
    if (failed(visit(op, access, state)))
      return failure();
  for (const Sync &sync : syncsOf(op))
    if (failed(visit(op, sync, state)))
      return failure();
  return followProducts(op, state);
}
