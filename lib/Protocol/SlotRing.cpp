//===- SlotRing.cpp - which use a slot is of ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SlotRing.h"

using namespace mlir;
using namespace mlir::dash;

FailureOr<RingOp> dash::ringOf(Operation *op, const SlotRef &slot) {
  if (!slot.channel)
    return op->emitError("has a factor in a slot that no 'dash.slot_tile' names");
  auto ring = slot.slot.getDefiningOp<RingOp>();
  if (ring && slot.slot == ring.getSlot() && ring.getChannel() == slot.channel)
    return ring;
  return op->emitError("has a slot that is none of a use: the slot of a 'dash.ring' of its "
                       "channel");
}

static bool isNumbered(const SlotRef &slot) { return slot.channel && !slot.slot; }

/// Slots that the op knows by the number of their use.
static bool hasNumberedSlots(Operation *op) {
  auto isOne = [](const auto &one) { return isNumbered(one.slot); };
  return llvm::any_of(accessesOf(op), isOne) || llvm::any_of(syncsOf(op), isOne);
}

LogicalResult dash::verifySpelledOut(Operation *op) {
  if (hasNumberedSlots(op))
    return op->emitError("knows a slot by the number of its use; run --dash-insert-waits first");
  if (!isa<SlotAccessInterface>(op) &&
      llvm::any_of(sumAccessesOf(op), [](const auto &one) { return one.isContribution(); }))
    return op->emitError("adds a tile that lies in no slot; run --dash-lower-ordered-reduce first");
  return verifySaysAccesses(op);
}
