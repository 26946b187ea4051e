//===- Visibility.h - which elements a mask shows --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_VISIBILITY_H
#define DASH_LIB_CPU_VISIBILITY_H

#include "LoopBuilder.h"
#include "dash/IR/Band.h"

namespace mlir::dash {

/// Whether row `row` sees column `column` in a task of a proven order. Both count from the start of
/// a sequence of `qRows` query and `kvRows` key rows. True if both lie in the sequence and within
/// the mask's edges. No order visits a tile that the mask hides completely, so this needs no test.
/// Arguments have type index; the answer is an i1.
Value isVisible(LoopBuilder &b, const Edges &edges, Value row, Value column, Value qRows,
                Value kvRows);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_VISIBILITY_H
