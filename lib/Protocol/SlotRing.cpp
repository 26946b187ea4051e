//===- SlotRing.cpp - the use of a slot -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SlotRing.h"
#include "dash/Steps/SlotUse.h"

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

LogicalResult dash::verifySpelledOut(Operation *op) {
  return failure(failed(verifyWaitsAreOps(op)) || failed(verifySaysAccesses(op)));
}
