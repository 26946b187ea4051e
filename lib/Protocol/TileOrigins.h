//===- TileOrigins.h - the tiles of memory behind a tile --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile's rows and columns come from tiles of memory, or have no known origin: S has the rows of K
// and, as columns, the rows of Q. Products and element-wise ops pass origins on. So they are known
// for everything that is added to dQ, and for all operands that meet on the way.
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

/// The origin of a tile. The elements of a row vector count as rows.
struct TileOrigin {
  std::optional<MemoryTile> rows, columns;

  TileOrigin transposed(bool isTransposed) const {
    return isTransposed ? TileOrigin{columns, rows} : *this;
  }
};

/// Whether a tile has numbers for the rows of others: it has no columns of theirs.
bool isPerRow(Type tile);

/// The origin of what an op on tiles works on, from those of its operands in order; operands that
/// are not tiles are ignored. Fails, with an error at the op, if the operands do not match.
FailureOr<TileOrigin> originOf(Operation *op, ArrayRef<TileOrigin> operands);

/// Merges both; they must agree if both are known.
LogicalResult meet(Operation *op, std::optional<MemoryTile> &mine,
                   const std::optional<MemoryTile> &other);
LogicalResult meet(Operation *op, TileOrigin &mine, const TileOrigin &other);

/// A tile written to memory must have the rows of its target.
LogicalResult verifyRows(Operation *op, const TileOrigin &origin, const MemoryTile &target);
/// The kv tile that an op states must be that of its keys, and so must the sequence, if it states
/// one.
LogicalResult verifyTold(Operation *op, const TileOrigin &origin, int64_t kvTile,
                         std::optional<int64_t> sequence);

/// Origins by number, so that a register can hold one. Number 0 is the unknown origin.
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
