//===- Rounded.h - sums that an entry rounds -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_ROUNDED_H
#define DASH_LIB_ENTRIES_ROUNDED_H

#include "dash/Entries/Places.h"

namespace mlir::dash {

/// A `dash.convert`, and a block's share of it.
struct Rounded {
  Rounded(ConvertOp op, const Kernels &kernels);

  std::string grid() const;
  /// Blocks that share a tile or a piece.
  int64_t shares() const { return isApart ? chunks() / chunksOfLine() : 1; }
  /// Chunks of 16 bytes whose words four lanes exchange; each lane then has eight columns. Four
  /// chunks of a row, or, if the columns are no multiple of these, two chunks of each of a thread's
  /// two rows.
  int64_t chunksOfLine() const { return chunks() % 4 == 0 ? 4 : 2; }
  int64_t columnsOfLine() const { return 8 * chunksOfLine(); }
  /// The number of a thread's chunks of a tile or a piece.
  int64_t chunks() const { return layout.getNumRegisters(shape()) / FragmentAttr::wordsOfChunk; }
  int64_t threads() const;
  /// The shape of a tile or a piece: a piece of a kv tile has as many rows as a q tile.
  std::array<int64_t, 2> shape() const { return {rows, tensor.getTileColumns()}; }
  int64_t bytes() const { return 4 * rows * tensor.getTileColumns(); }

  ConvertOp op;
  TensorRoleAttr tensor; ///< target of the rounding; null without a role
  int64_t pieces;        ///< of a tile of the gradient
  int64_t rows;          ///< of a tile, or of a piece
  bool isApart;          ///< contributions still must be added up
  bool waits;            ///< for each sum until it is complete
  FragmentAttr layout;   ///< of a tile of the sums, or of a piece
  Value scale;           ///< null for 1
  QueryTile tile;        ///< or a piece of a kv tile
};

/// Checks that one entry can round all of them.
LogicalResult checkRounded(ArrayRef<Rounded> all, const Kernels &kernels);

/// A thread's chunks from its first on. All loads come first: their number hides their latency.
/// `isWritten`: other threads have written them since the launch.
SmallVector<SmallVector<Value>> loadChunks(PtxBuilder &b, Value first, int64_t count,
                                           bool isWritten = false);

/// Adds up the contributions to a tile, in the order of turns, for a thread that has one line of
/// its chunks. Returns the thread's words, chunk by chunk. `place` is the thread's first position
/// in a tile. Threads without rows load nothing; with few rows of Q, these are most threads.
SmallVector<SmallVector<Value>> addContributions(EntryBuilder &b, const Rounded &one,
                                                 const Kernels &kernels, Value place,
                                                 Value hasRows);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_ROUNDED_H
