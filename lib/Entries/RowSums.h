//===- RowSums.h - sums of rows of O times dO ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_ROWSUMS_H
#define DASH_LIB_ENTRIES_ROWSUMS_H

#include "dash/Entries/Places.h"

namespace mlir::dash {

/// What `dash.delta` multiplies, of one element type and as many columns.
struct RowFactors {
  TensorRoleAttr o, gradient;
};

/// All threads of a block sum the rows of a tile of `numRows` rows; `store` gets each row of the tile and its sum. A row is
/// chunks of 16 bytes of as many lanes, which stand side by side in a warp.
void sumRows(EntryBuilder &b, const RowFactors &factors, const QueryTile &tile, int64_t numRows,
             Value thread, int64_t numThreads,
             llvm::function_ref<void(Value row, Value sum)> store);

/// Rows past the end are read as the last one: no branch stands between the loads.
Value clampedRow(EntryBuilder &b, const QueryTile &tile, Value localRow);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_ROWSUMS_H
