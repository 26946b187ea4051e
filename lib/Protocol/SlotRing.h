//===- SlotRing.h - the use of a slot ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_SLOTRING_H
#define DASH_LIB_PROTOCOL_SLOTRING_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// The op that defines a slot and its use. If there is none, fails with an error at the op that
/// names the slot.
FailureOr<RingOp> ringOf(Operation *op, const SlotRef &slot);

/// Fails, with an error at the op, if it does not state its effects on slots and sums, or states
/// them in the form before --dash-insert-waits.
LogicalResult verifySpelledOut(Operation *op);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_SLOTRING_H
