//===- Visibility.cpp - which elements a mask shows -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Visibility.h"
#include "mlir/Dialect/Affine/Utils.h"

using namespace mlir;
using namespace mlir::dash;

Value dash::isVisible(LoopBuilder &b, const Edges &edges, Value row, Value column, Value qRows,
                      Value kvRows) {
  Value isThere = b.both(b.below(row, qRows), b.below(column, kvRows));
  SmallVector<Value> places = {row, column, b.sub(kvRows, qRows)};
  auto place = [&](unsigned i) { return getAffineDimExpr(i, b.getContext()); };
  auto within = [&](const Band &band) {
    Value visible = isThere;
    for (AffineExpr slack : band.slacks(place(0), place(1), place(2))) {
      Value number = affine::expandAffineExpr(b, b.getLoc(), slack, places, /*symbolValues=*/{});
      visible = b.both(visible, b.atMost(b.index(0), number));
    }
    return visible;
  };
  if (edges.firstColumns == 0)
    return within(edges.band);
  return arith::SelectOp::create(b, b.below(column, b.index(edges.firstColumns)),
                                 within(edges.wide), within(edges.band));
}
