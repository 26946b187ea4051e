//===- TaskTiles.h - where tiles of tasks lie in memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_TASKTILES_H
#define DASH_IR_TASKTILES_H

#include "llvm/Support/MathExtras.h"
#include <string>

namespace mlir::dash {

/// A tile has as many rows of k, and of q. The first tile of the memory is zeros; behind it are
/// those of sequences, heads, kv tiles and q tiles, in this order.
constexpr int64_t rowsOfTaskTile = 64, numbersOfTaskTile = rowsOfTaskTile * rowsOfTaskTile;
constexpr int64_t bytesOfTaskTile = 2 * numbersOfTaskTile;
/// A row of q tiles is as long as a multiple of this, so q tiles of 64, 128 and 192 rows begin at
/// whole ones.
constexpr int64_t qTilesOfTasks = 6;

inline int64_t countTaskTiles(int64_t batch, int64_t heads, int64_t qRows, int64_t kvRows) {
  int64_t ofRow = qTilesOfTasks * llvm::divideCeil(qRows, qTilesOfTasks * rowsOfTaskTile);
  return 1 + batch * heads * int64_t(llvm::divideCeil(kvRows, rowsOfTaskTile)) * ofRow;
}
/// The same, for launchers.
inline std::string describeTaskTiles() {
  auto number = [](int64_t one) { return std::to_string(one); };
  return "1 + batch*heads*ceildiv(kv_rows, " + number(rowsOfTaskTile) + ")*" +
         number(qTilesOfTasks) + "*ceildiv(q_rows, " + number(qTilesOfTasks * rowsOfTaskTile) + ")";
}

} // namespace mlir::dash

#endif // DASH_IR_TASKTILES_H
