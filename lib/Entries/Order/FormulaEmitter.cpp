//===- FormulaEmitter.cpp - formulas as arithmetic of a kernel ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FormulaEmitter.h"

using namespace mlir;
using namespace mlir::dash;

Value FormulaEmitter::number(int64_t value) {
  return inputs.front().getType().isInteger(64) ? b.i64(value) : b.i32(value);
}

SmallVector<Value> FormulaEmitter::emit(ArrayRef<FormulaPiece> pieces) {
  SmallVector<Value> values;
  for (AffineExpr expr : pieces.back().value.getResults())
    values.push_back(emit(expr));
  // From the last piece to the first, which wins if several apply.
  for (const FormulaPiece &piece : llvm::reverse(pieces.drop_back())) {
    Value applies = emitCondition(piece.condition);
    for (auto [value, expr] : llvm::zip_equal(values, piece.value.getResults()))
      value = b.choose(applies, emit(expr), value);
  }
  return values;
}

Value FormulaEmitter::emitCondition(IntegerSet condition) {
  Value all = b.i1(true);
  for (auto [i, expr] : llvm::enumerate(condition.getConstraints())) {
    auto predicate = condition.isEq(i) ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
    all = b.both(all, b.compare(predicate, emit(expr), number(0)));
  }
  return all;
}

Value FormulaEmitter::emit(AffineExpr expr) {
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return inputs[symbol.getPosition()];
  if (Value value = known.lookup(expr))
    return value;
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  Value value = constant ? number(constant.getValue()) : emitBinary(cast<AffineBinaryOpExpr>(expr));
  known.insert({expr, value});
  return value;
}

Value FormulaEmitter::emitBinary(AffineBinaryOpExpr expr) {
  Value lhs = emit(expr.getLHS()), rhs = emit(expr.getRHS());
  if (expr.getKind() == AffineExprKind::Add)
    return b.add(lhs, rhs);
  if (expr.getKind() == AffineExprKind::Mul)
    return b.mul(lhs, rhs);
  // Constant divisors are positive.
  if (!isa<AffineConstantExpr>(expr.getRHS()))
    rhs = b.max(rhs, number(1));
  if (expr.getKind() == AffineExprKind::CeilDiv)
    return b.sub(number(0), b.floorDiv(b.sub(number(0), lhs), rhs));
  Value quotient = b.floorDiv(lhs, rhs);
  return expr.getKind() == AffineExprKind::FloorDiv ? quotient : b.sub(lhs, b.mul(quotient, rhs));
}
