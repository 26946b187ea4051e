//===- Assembly.h - custom pieces of the ops' text form ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The directives `custom<...>` of the .td files. Each is defined beside the verifier of its op;
// generated code finds them here.
//===----------------------------------------------------------------------===//

#ifndef DASH_LIB_IR_ASSEMBLY_H
#define DASH_LIB_IR_ASSEMBLY_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

using MaybeOperand = std::optional<OpAsmParser::UnresolvedOperand>;

/// An attribute of an enum by its bare word. `expected` says what it is, and which words there are.
template <typename AttrT, typename EnumT>
ParseResult parseWord(OpAsmParser &parser, std::optional<EnumT> (*symbolize)(StringRef),
                      StringRef expected, AttrT &attr) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  (void)parser.parseOptionalKeyword(&word);
  std::optional<EnumT> value = symbolize(word);
  if (!value)
    return parser.emitError(loc, "expected ") << expected << ", got '" << word << "'";
  attr = AttrT::get(parser.getContext(), *value);
  return success();
}

/// A level by its bare word, without the brackets of `#dash.level<...>`.
ParseResult parseLevel(OpAsmParser &parser, DeterminismLevelAttr &level);
void printLevel(OpAsmPrinter &printer, Operation *op, DeterminismLevelAttr level);

/// Contributions that wait for no turn, by their bare word.
ParseResult parseApart(OpAsmParser &parser, ApartAttr &apart);
void printApart(OpAsmPrinter &printer, Operation *op, ApartAttr apart);

/// How consumers share the tensor core, by its bare word.
ParseResult parseStructure(OpAsmParser &parser, WarpStructureAttr &structure);
void printStructure(OpAsmPrinter &printer, Operation *op, WarpStructureAttr structure);

/// `unscheduled` or `order(@name)`, and `own(q) walk(kv)` behind it, where items do.
ParseResult parsePhase(OpAsmParser &parser, FlatSymbolRefAttr &order, TensorSideAttr &own);
void printPhase(OpAsmPrinter &printer, Operation *op, FlatSymbolRefAttr order, TensorSideAttr own);

/// `(%seq, %kv_head, %kv) { ... }`
ParseResult parseItemsBody(OpAsmParser &parser, Region &body);
void printItemsBody(OpAsmPrinter &printer, Operation *op, Region &body);

/// `%q, %k, %v, %do, %lse, o = %o : type, ...`, where `delta = %delta` may stand for `o = %o`.
ParseResult parseInputs(OpAsmParser &parser, OpAsmParser::UnresolvedOperand &q,
                        OpAsmParser::UnresolvedOperand &k, OpAsmParser::UnresolvedOperand &v,
                        OpAsmParser::UnresolvedOperand &dOut, OpAsmParser::UnresolvedOperand &lse,
                        MaybeOperand &o, MaybeOperand &delta, Type &qType, Type &kType, Type &vType,
                        Type &dOutType, Type &lseType, Type &oType, Type &deltaType);
void printInputs(OpAsmPrinter &printer, Operation *op, Value q, Value k, Value v, Value dOut,
                 Value lse, Value o, Value delta, Type qType, Type kType, Type vType, Type dOutType,
                 Type lseType, Type oType, Type deltaType);

/// `%dq, %dk, %dv : type, ...`, or a part of them by name, `dk = %dk, dv = %dv` or `dq = %dq`.
ParseResult parseOutputs(OpAsmParser &parser, MaybeOperand &dq, MaybeOperand &dk, MaybeOperand &dv,
                         Type &dqType, Type &dkType, Type &dvType);
void printOutputs(OpAsmPrinter &printer, Operation *op, Value dq, Value dk, Value dv, Type dqType,
                  Type dkType, Type dvType);

/// `(type, type) -> type`; what is accumulated on has the type of the result.
ParseResult parseProduct(OpAsmParser &parser, Type &a, Type &b, Type &result, Type &accumulate,
                         const MaybeOperand &accumulateOperand);
void printProduct(OpAsmPrinter &printer, Operation *op, Type a, Type b, Type result,
                  Type accumulate, Value accumulateOperand);

} // namespace mlir::dash

#endif // DASH_LIB_IR_ASSEMBLY_H
