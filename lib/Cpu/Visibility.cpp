//===- Visibility.cpp - which elements a mask shows -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Visibility.h"
#include "mlir/Dialect/Affine/Utils.h"

using namespace mlir;
using namespace mlir::dash;

Value dash::isVisible(LoopBuilder &b, const Band &band, Value row, Value column, Value qRows,
                      Value kvRows) {
  Value visible = b.both(b.below(row, qRows), b.below(column, kvRows));
  SmallVector<Value> places = {row, column, b.sub(kvRows, qRows)};
  auto place = [&](unsigned i) { return getAffineDimExpr(i, b.getContext()); };
  for (AffineExpr slack : band.slacks(place(0), place(1), place(2))) {
    Value number = affine::expandAffineExpr(b, b.getLoc(), slack, places, /*symbolValues=*/{});
    visible = b.both(visible, b.atMost(b.index(0), number));
  }
  return visible;
}
