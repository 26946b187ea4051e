//===- ForwardRows.h - rows of a forward's tiles ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_FORWARDROWS_H
#define DASH_SCHEDULE_FORWARDROWS_H

#include "dash/IR/Problem.h"

namespace mlir::dash {

/// The rows of a forward's tiles unless stated. Those of kv follow from the head dims alone: the
/// bits of a row depend on them, so neither mask nor size may choose them.
TileShape rowsOfForward(int64_t headDim, int64_t headDimV);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_FORWARDROWS_H
