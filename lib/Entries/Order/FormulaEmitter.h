//===- FormulaEmitter.h - formulas as arithmetic of a kernel ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_ORDER_FORMULAEMITTER_H
#define DASH_LIB_ENTRIES_ORDER_FORMULAEMITTER_H

#include "dash/Hopper/PtxBuilder.h"
#include "dash/IR/DashAttrs.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dash {

/// Emits a piecewise function in the type of its inputs, without branches: computes every piece,
/// and selects the first whose condition holds. Shared expressions are computed once. Divisors of
/// pieces that do not apply may be anything: they are raised to at least 1.
class FormulaEmitter {
public:
  /// `inputs`: the values of the symbols, all i64 or all i32.
  FormulaEmitter(PtxBuilder &b, ArrayRef<Value> inputs) : b(b), inputs(inputs) {}

  /// The values at the builder's insertion point, one for each result.
  SmallVector<Value> emit(ArrayRef<FormulaPiece> pieces);
  Value emit(AffineExpr expr);

private:
  Value emitBinary(AffineBinaryOpExpr expr);
  Value emitCondition(IntegerSet condition);
  Value number(int64_t value);

  PtxBuilder &b;
  SmallVector<Value> inputs;
  llvm::DenseMap<AffineExpr, Value> known; ///< looked up only
};

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_ORDER_FORMULAEMITTER_H
