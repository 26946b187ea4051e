//===- EraseUnused.h - erase ops with unused results ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_ERASEUNUSED_H
#define DASH_LIB_STEPS_ERASEUNUSED_H

#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::dash {

/// Erases ops without effects whose results are unused, last ones first, so that ops used only by
/// them go too. A pass calls it for its own leftovers: nothing else in the IR moves.
inline void eraseUnused(Operation *root) {
  root->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op != root && isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_ERASEUNUSED_H
