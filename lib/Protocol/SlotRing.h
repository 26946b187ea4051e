//===- SlotRing.h - which use a slot is of ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_SLOTRING_H
#define DASH_LIB_PROTOCOL_SLOTRING_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// The op that gives a slot and says whose use it is. Fails, with an error at the op that names the slot, where there is none.
FailureOr<RingOp> ringOf(Operation *op, const SlotRef &slot);

/// Fails, with an error at the op, if it does not say what it does to slots and sums, or says so as passes before
/// --dash-insert-waits do.
LogicalResult verifySpelledOut(Operation *op);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_SLOTRING_H
