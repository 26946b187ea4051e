//===- FormulaSignatures.cpp - what formulas are functions of -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/DashAttrs.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace mlir::dash;

ArrayRef<FormulaSignature> dash::getFormulaSignatures(TensorSide own) {
  static constexpr StringRef place[] = {"i"}, unit[] = {"unit"}, step[] = {"kv", "step"},
                             stepOfQ[] = {"q", "step"}, pair[] = {"kv", "q"}, lists[] = {"workers"};
  static constexpr StringRef grid[] = {"q_tiles", "kv_tiles", "groups", "width", "workers"};
  static constexpr StringRef walk[] = {"q_tiles", "kv_tiles", "width", "first", "last", "offset"};
  static const FormulaSignature signatures[] = {{"item", place, grid, 3},
                                                {"worker", unit, lists, 1},
                                                {"visit", step, walk, 1},
                                                {"turn", pair, walk, 1}};
  static const FormulaSignature signaturesOfQ[] = {
      {"item", place, grid, 3}, {"worker", unit, lists, 1}, {"visit", stepOfQ, walk, 1}};
  if (own == TensorSide::Q)
    return signaturesOfQ;
  return signatures;
}

const FormulaSignature &dash::getFormulaSignature(StringRef name, TensorSide own) {
  return *llvm::find_if(getFormulaSignatures(own),
                        [&](const FormulaSignature &one) { return one.name == name; });
}

unsigned FormulaSignature::getPosition(StringRef name) const {
  for (unsigned symbol = 0; symbol < getNumSymbols(); ++symbol)
    if (getName(symbol) == name)
      return symbol;
  llvm_unreachable("a formula has the inputs and sizes of its signature");
}

AffineExpr FormulaSignature::getSymbol(StringRef name, MLIRContext *context) const {
  return getAffineSymbolExpr(getPosition(name), context);
}

bool FormulasAttr::dependsOn(StringRef size) const {
  ArrayRef<FormulaPiece> members[] = {getItem(), getWorker(), getVisit(), getTurn()};
  for (auto [signature, pieces] : llvm::zip(getFormulaSignatures(getOwn()), members)) {
    if (!llvm::is_contained(signature.sizes, size))
      continue;
    unsigned symbol = signature.getPosition(size);
    auto uses = [&](AffineExpr expr) { return expr.isFunctionOfSymbol(symbol); };
    for (const FormulaPiece &piece : pieces)
      if (llvm::any_of(piece.value.getResults(), uses) ||
          (piece.hasCondition() && llvm::any_of(piece.condition.getConstraints(), uses)))
        return true;
  }
  return false;
}
