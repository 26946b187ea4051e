//===- Visibility.h - which elements a mask shows --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_VISIBILITY_H
#define DASH_LIB_LOWERING_VISIBILITY_H

#include "LoopBuilder.h"
#include "dash/Schedule/Problem.h"

namespace mlir::dash {

/// Whether row `row` sees column `column`, both counted from the start of a sequence of `qRows`
/// query and `kvRows` key rows: both lie in the sequence, and the mask lets them. All are of type
/// index; the answer is an i1.
Value isVisible(LoopBuilder &b, const Mask &mask, Value row, Value column, Value qRows,
                Value kvRows);

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_VISIBILITY_H
