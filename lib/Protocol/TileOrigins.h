//===- TileOrigins.h - which tiles of memory a tile comes from -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile's rows, and its columns, are those of a tile of memory, or of none that is known: S has the rows of K and, as
// columns, the rows of Q. Products and element-wise ops hand that on, so it is known of what is added to dQ, and of
// all that meets on the way.
//
//===----------------------------------------------------------------------===//

#ifndef DASH_LIB_PROTOCOL_TILEORIGINS_H
#define DASH_LIB_PROTOCOL_TILEORIGINS_H

#include "dash/IR/DashOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dash {

/// Rows of a tensor in memory.
struct MemoryTile {
  int64_t sequence, head, tile;

  bool operator==(const MemoryTile &other) const {
    return sequence == other.sequence && head == other.head && tile == other.tile;
  }
};

/// Where a tile comes from; of a row vector its elements are the rows.
struct TileOrigin {
  std::optional<MemoryTile> rows, columns;

  TileOrigin transposed(bool isTransposed) const {
    return isTransposed ? TileOrigin{columns, rows} : *this;
  }
};

/// The origin of what an op that computes with tiles gives, from those of its operands, as they stand in the op; of what is
/// no tile they are ignored. Fails, with an error at the op, where tiles meet that do not belong together.
FailureOr<TileOrigin> originOfResult(Operation *op, ArrayRef<TileOrigin> operands);

/// Both, which must be of the same rows where both are known.
LogicalResult meet(Operation *op, std::optional<MemoryTile> &mine,
                   const std::optional<MemoryTile> &other);
LogicalResult meet(Operation *op, TileOrigin &mine, const TileOrigin &other);

/// What is handed to memory must have the rows that it is handed to.
LogicalResult verifyRows(Operation *op, const TileOrigin &origin, const MemoryTile &target);
/// The kv tile that an op is told of must be that of its rows, and so the sequence, if it is told one.
LogicalResult verifyTold(Operation *op, const TileOrigin &origin, int64_t kvTile,
                         std::optional<int64_t> sequence);

/// Origins by number, so that a register can hold one. 0 is that of which nothing is known.
class TileOrigins {
public:
  TileOrigin get(int64_t number) const;
  int64_t add(const TileOrigin &origin);

private:
  int64_t numberOf(const std::optional<MemoryTile> &tile);

  SmallVector<MemoryTile> tiles;
  llvm::DenseMap<std::pair<int64_t, std::pair<int64_t, int64_t>>, int64_t>
      numbers; // looked up only
};

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_TILEORIGINS_H
