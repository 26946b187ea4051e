//===- RowSums.h - sums of rows of O times dO ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_ROWSUMS_H
#define DASH_LIB_ENTRIES_ROWSUMS_H

#include "dash/Entries/Places.h"

namespace mlir::dash {

/// The factors of `dash.delta`, with equally many columns. O has the gradient's element type, or
/// f32.
struct RowFactors {
  TensorRoleAttr o, gradient;
};

/// All threads of a block sum the rows of a tile of `numRows` rows; `store` receives each row of
/// the tile and its sum. The 16-byte chunks of a row belong to adjacent lanes of a warp.
void sumRows(EntryBuilder &b, const RowFactors &factors, const QueryTile &tile, int64_t numRows,
             Value thread, int64_t numThreads,
             llvm::function_ref<void(Value row, Value sum)> store);

/// Reads rows past the end as the last row, so no branch stands between the loads.
Value clampedRow(EntryBuilder &b, const QueryTile &tile, Value localRow);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_ROWSUMS_H
