//===- EraseUnused.h - ops whose results nobody asks for --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_ERASEUNUSED_H
#define DASH_LIB_STEPS_ERASEUNUSED_H

#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::dash {

/// Erases ops without effects whose results have no use, those behind first, so that what only they used goes too.
/// A pass calls it for what it has left over itself: nothing else in the IR moves.
inline void eraseUnused(Operation *root) {
  root->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op != root && isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_ERASEUNUSED_H
