//===- ProgramAttrs.h - what a module of kernels says of itself -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between Lowering, which knows the program, and Target, which describes it to
// launchers. Keys and structure are those of the manifest.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LOWERING_PROGRAMATTRS_H
#define DASH_LOWERING_PROGRAMATTRS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dash {

/// The symbol of a function's `gpu.module` is its own with this behind it.
constexpr llvm::StringLiteral kernelsSuffix = "_kernels";

/// Of a `gpu.module`: a dictionary with the keys below.
constexpr llvm::StringLiteral programAttr = "dash.program";
/// Of a `gpu.module`, where the order is formulas: the `#dash.formulas` themselves.
constexpr llvm::StringLiteral formulasAttr = "dash.formulas";
/// Of a `gpu.module`, where the order is a table: the order buffer, dense i32 elements.
constexpr llvm::StringLiteral orderBufferAttr = "dash.order";

constexpr llvm::StringLiteral programNameKey = "name";     ///< string: the function's
constexpr llvm::StringLiteral programFactsKey = "program"; ///< dictionary, keys below
constexpr llvm::StringLiteral programSizesKey = "sizes";   ///< dictionary of {min, max} or {value}
constexpr llvm::StringLiteral programConstraintsKey = "constraints"; ///< array of dictionaries
constexpr llvm::StringLiteral programDerivedKey = "derived";         ///< dictionary of expressions
constexpr llvm::StringLiteral programTensorsKey = "tensors";         ///< array of dictionaries
constexpr llvm::StringLiteral programWorkspaceKey = "workspace";     ///< array of dictionaries
constexpr llvm::StringLiteral programOrderKey = "order";             ///< dictionary

// Keys of the program's facts.
constexpr llvm::StringLiteral factElementKey = "element";             ///< string: "bf16"
constexpr llvm::StringLiteral factHeadDimKey = "head_dim";            ///< i64
constexpr llvm::StringLiteral factHeadDimVKey = "head_dim_v";         ///< i64
constexpr llvm::StringLiteral factMaskKey = "mask";                   ///< string: "full", "causal"
constexpr llvm::StringLiteral factTilesKey = "tiles";                 ///< {q = i64, kv = i64}
constexpr llvm::StringLiteral factKindKey = "kind";                   ///< string: "shift", …
constexpr llvm::StringLiteral factLevelKey = "level";                 ///< string: "run", …
constexpr llvm::StringLiteral factDeterministicKey = "deterministic"; ///< bool
constexpr llvm::StringLiteral factPartsKey = "parts";                 ///< i64
constexpr llvm::StringLiteral factWorkersKey = "workers";             ///< i64
constexpr llvm::StringLiteral factWidthKey = "width";                 ///< i64
constexpr llvm::StringLiteral factMinWorkersKey = "min_workers";      ///< i64

} // namespace mlir::dash

#endif // DASH_LOWERING_PROGRAMATTRS_H
