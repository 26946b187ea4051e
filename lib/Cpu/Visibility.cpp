//===- Visibility.cpp - which elements a mask shows -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place of this stage that knows what masks mean.
//
//===----------------------------------------------------------------------===//

#include "Visibility.h"

using namespace mlir;
using namespace mlir::dash;

Value dash::isVisible(LoopBuilder &b, const Mask &mask, Value row, Value column, Value qRows,
                      Value kvRows) {
  Value visible = b.both(b.below(row, qRows), b.below(column, kvRows));
  // Columns from the diagonal, which ends in the last row and column.
  Value distance = b.sub(column, b.add(row, b.sub(kvRows, qRows)));
  if (mask.right >= 0)
    visible = b.both(visible, b.atMost(distance, b.index(mask.right)));
  if (mask.left >= 0)
    visible = b.both(visible, b.atMost(b.index(-mask.left), distance));
  return visible;
}
