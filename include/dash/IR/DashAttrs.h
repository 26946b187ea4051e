//===- DashAttrs.h - masks, tiles, problems and orders ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attributes of dash, and the pieces and names that formulas consist of.
//
//===----------------------------------------------------------------------===//

#ifndef DASH_IR_DASHATTRS_H
#define DASH_IR_DASHATTRS_H

#include "dash/IR/Band.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/TensorEncoding.h"
#include "llvm/ADT/APFloat.h"

#include "dash/IR/DashEnums.h.inc"
#include "dash/IR/DashMaskRule.h.inc"

namespace mlir::dash {

/// One case of a function in `#dash.formulas`: the function is `value` if `condition` holds and no
/// earlier condition does. The last case has a null condition: it always holds.
struct FormulaPiece {
  IntegerSet condition;
  AffineMap value;

  bool hasCondition() const { return condition != IntegerSet(); }

  bool operator==(const FormulaPiece &other) const {
    return condition == other.condition && value == other.value;
  }
};

inline llvm::hash_code hash_value(const FormulaPiece &piece) {
  return llvm::hash_combine(piece.condition, piece.value);
}

/// The name of a function of `#dash.formulas` and its arguments. The symbols s0, s1, ... of its
/// maps and sets are first its inputs, then the sizes it may use. There are no dims, because MLIR
/// only lets symbols be multiplied and divided by each other.
struct FormulaSignature {
  StringRef name;
  ArrayRef<StringRef> inputs;
  ArrayRef<StringRef> sizes;
  unsigned numResults;

  /// The number of the symbol called `name`, an input or a size of this function.
  unsigned getPosition(StringRef name) const;
  AffineExpr getSymbol(StringRef name, MLIRContext *context) const;
  unsigned getNumSymbols() const { return inputs.size() + sizes.size(); }
  StringRef getName(unsigned symbol) const {
    return symbol < inputs.size() ? inputs[symbol] : sizes[symbol - inputs.size()];
  }
};

/// The side that walks go along where items own `side`.
inline TensorSide otherSide(TensorSide side) {
  return side == TensorSide::Q ? TensorSide::KV : TensorSide::Q;
}

/// The signatures of `item`, `worker`, `visit` and `turn`, in this order. Formulas of items that
/// own q tiles have no `turn`.
ArrayRef<FormulaSignature> getFormulaSignatures(TensorSide own = TensorSide::KV);
/// One of them, by name.
const FormulaSignature &getFormulaSignature(StringRef name, TensorSide own = TensorSide::KV);

} // namespace mlir::dash

#define GET_ATTRDEF_CLASSES
#include "dash/IR/DashAttrs.h.inc"

namespace mlir::dash {

/// Query heads of a q tile.
LogicalResult verifyFold(function_ref<InFlightDiagnostic()> emitError, int64_t fold);
/// A q tile folds heads for items that own it, under a band. Messages say what the items are.
LogicalResult verifyFold(function_ref<InFlightDiagnostic()> emitError, TilesAttr tiles,
                         MaskAttr mask, TensorSide own);
LogicalResult verifyFoldOfMask(function_ref<InFlightDiagnostic()> emitError, int64_t fold,
                               MaskAttr mask);
/// Heads are those of tensors, where they are static.
LogicalResult verifyFoldOfGroup(function_ref<InFlightDiagnostic()> emitError, int64_t fold,
                                int64_t heads, int64_t kvHeads);
/// The kv rows of a piece, 0 where keys are not cut, are whole tiles that items of q tiles walk.
LogicalResult verifyCut(function_ref<InFlightDiagnostic()> emitError, int64_t cut, TilesAttr tiles,
                        TensorSide own);

} // namespace mlir::dash

#endif // DASH_IR_DASHATTRS_H
