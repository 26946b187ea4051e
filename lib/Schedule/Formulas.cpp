//===- Formulas.cpp - build piecewise affine functions --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Formulas.h"

using namespace mlir;
using namespace mlir::dash;

Piecewise dash::always(ArrayRef<AffineExpr> values, unsigned numInputs) {
  return {
      {IntegerSet(), AffineMap::get(/*dimCount=*/0, numInputs, values, values[0].getContext())}};
}

Piecewise dash::select(ArrayRef<AffineExpr> conditions, ArrayRef<AffineExpr> then,
                       const Piecewise &otherwise) {
  unsigned numInputs = otherwise.back().value.getNumSymbols();
  SmallVector<bool> isEquality(conditions.size(), false);
  Piecewise pieces = {{IntegerSet::get(/*dimCount=*/0, numInputs, conditions, isEquality),
                       AffineMap::get(/*dimCount=*/0, numInputs, then, then[0].getContext())}};
  llvm::append_range(pieces, otherwise);
  return pieces;
}

AffineExpr dash::clampToZero(AffineExpr value, AffineExpr bound) {
  return value * (value + bound).floorDiv(bound);
}
