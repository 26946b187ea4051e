//===- Nesting.h - nested brackets ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_NESTING_H
#define DASH_SUPPORT_NESTING_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dash {

/// The parsers of MLIR and JSON recurse for each open bracket. Untrusted text that opens more of
/// them is refused before parsing, or it would exhaust the stack. No useful text comes near. A host
/// program may call dash where stacks are small.
constexpr unsigned mostNesting = 256, mostNestingOfJson = 64, mostNestingOfAttr = 32;

/// Whether brackets (), [], {} and <> nest deeper, outside strings and comments of MLIR and JSON.
bool nestsDeeper(llvm::StringRef text, unsigned most);

} // namespace mlir::dash

#endif // DASH_SUPPORT_NESTING_H
