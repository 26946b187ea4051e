//===- LonelyTiles.h - tiles of queries that nobody adds to ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_LONELYTILES_H
#define DASH_LIB_ENTRIES_LONELYTILES_H

#include "dash/Entries/Kernels.h"
#include "dash/IR/Problem.h"

namespace mlir::dash {

/// Ranges of q tiles that no column is seen from.
using LonelyTiles = SmallVector<TileRange>;

/// Those of a mask with rules, where rows are stated; nothing of a band, and of a union over other rows, which say it by
/// arithmetic (LineEmitter).
FailureOr<std::optional<LonelyTiles>> findLonelyTiles(const Kernels &kernels);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_LONELYTILES_H
