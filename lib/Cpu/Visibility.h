//===- Visibility.h - which elements a mask shows --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_VISIBILITY_H
#define DASH_LIB_CPU_VISIBILITY_H

#include "LoopBuilder.h"
#include "dash/IR/Band.h"

namespace mlir::dash {

/// Whether row `row` sees column `column` in a task of a proven order, both counted from the start of
/// a sequence of `qRows` query and `kvRows` key rows: both lie in the sequence and in the mask's band.
/// The mask's rules hide tiles as a whole, and no order visits a tile that they hide, so they need no
/// test. All are of type index; the answer is an i1.
Value isVisible(LoopBuilder &b, const Band &band, Value row, Value column, Value qRows,
                Value kvRows);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_VISIBILITY_H
