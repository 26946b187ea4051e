//===- TilingText.h - custom pieces of a tiling's text form -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_IR_TILINGTEXT_H
#define DASH_LIB_IR_TILINGTEXT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::dash {

/// `{s = 2 x 1, dq = 1 x 2}`
ParseResult parseSplits(AsmParser &parser, DictionaryAttr &splits);
void printSplits(AsmPrinter &printer, DictionaryAttr splits);

/// `{q = 2, k = 1}`
ParseResult parseSlots(AsmParser &parser, DictionaryAttr &slots);
void printSlots(AsmPrinter &printer, DictionaryAttr slots);

/// `[k, v]`
ParseResult parseHeld(AsmParser &parser, ArrayAttr &hold);
void printHeld(AsmPrinter &printer, ArrayAttr hold);

} // namespace mlir::dash

#endif // DASH_LIB_IR_TILINGTEXT_H
