//===- EntryAttrs.h - what an entry says about itself ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between Lowering, which makes entries, and Target, which describes them to launchers.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LOWERING_ENTRYATTRS_H
#define DASH_LOWERING_ENTRYATTRS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dash {

/// Of a function that is launched: a dictionary with the keys below.
constexpr llvm::StringLiteral entryAttr = "dash.entry";
constexpr llvm::StringLiteral entryRoleKey = "role";   ///< string: "prepare", "main", …
constexpr llvm::StringLiteral entryWhenKey = "when";   ///< string: "always", "sizes-change"
constexpr llvm::StringLiteral entryGridKey = "grid";   ///< three strings: expressions in the sizes
constexpr llvm::StringLiteral entryBlockKey = "block"; ///< array<i32>, three numbers
constexpr llvm::StringLiteral entryClusterKey = "cluster";         ///< array<i32>, three numbers
constexpr llvm::StringLiteral entrySharedKey = "shared_bytes";     ///< i64, dynamic shared memory
constexpr llvm::StringLiteral entryCooperativeKey = "cooperative"; ///< bool

/// Of an argument of such a function: the name from which a launcher knows its value.
constexpr llvm::StringLiteral parameterAttr = "dash.parameter";

} // namespace mlir::dash

#endif // DASH_LOWERING_ENTRYATTRS_H
