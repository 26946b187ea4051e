//===- LonelyTiles.h - q tiles without contributions ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_LONELYTILES_H
#define DASH_LIB_ENTRIES_LONELYTILES_H

#include "dash/Entries/Kernels.h"
#include "dash/IR/Problem.h"

namespace mlir::dash {

/// Ranges of q tiles that see no column.
using LonelyTiles = SmallVector<TileRange>;

/// The ranges for a mask with rules, if rows are stated. Nothing for a band, or for a union over
/// other rows: these are found by arithmetic (LineEmitter).
FailureOr<std::optional<LonelyTiles>> findLonelyTiles(const Kernels &kernels);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_LONELYTILES_H
