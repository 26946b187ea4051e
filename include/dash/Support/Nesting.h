//===- Nesting.h - brackets in brackets ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_NESTING_H
#define DASH_SUPPORT_NESTING_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dash {

/// Parsers of MLIR and of JSON call themselves for each bracket that is open: a stranger's text that opens more of them is refused before it
/// is parsed, or it would use up the stack. No text of use comes near; a host's program may be called where stacks are small.
constexpr unsigned mostNesting = 256, mostNestingOfJson = 64, mostNestingOfAttr = 32;

/// Whether brackets nest deeper, (), [], {} and <>, outside of strings and comments as MLIR and JSON have them.
bool nestsDeeper(llvm::StringRef text, unsigned most);

} // namespace mlir::dash

#endif // DASH_SUPPORT_NESTING_H
