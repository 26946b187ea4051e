//===- Rounded.h - sums that an entry rounds -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_ROUNDED_H
#define DASH_LIB_ENTRIES_ROUNDED_H

#include "dash/Entries/Places.h"

namespace mlir::dash {

/// A `dash.convert`, and what a block of it has.
struct Rounded {
  Rounded(ConvertOp op, const Kernels &kernels);

  std::string grid() const;
  /// Blocks that share a tile or a piece.
  int64_t shares() const { return isApart ? chunks() / chunksOfLine() : 1; }
  /// Chunks of 16 bytes, of eight columns of the four lanes that hold them, whose words the lanes turn among themselves: four of a
  /// row, or, of columns that are no multiple of these, two of each of a thread's two rows.
  int64_t chunksOfLine() const { return chunks() % 4 == 0 ? 4 : 2; }
  int64_t columnsOfLine() const { return 8 * chunksOfLine(); }
  /// Chunks that a thread has of a tile or a piece.
  int64_t chunks() const { return layout.getNumRegisters(shape()) / FragmentAttr::wordsOfChunk; }
  int64_t threads() const;
  /// Of a tile or a piece: a piece of a kv tile has as many rows as a q tile.
  std::array<int64_t, 2> shape() const { return {rows, tensor.getTileColumns()}; }
  int64_t bytes() const { return 4 * rows * tensor.getTileColumns(); }

  ConvertOp op;
  TensorRoleAttr tensor; ///< that sums are rounded to; null without a role
  int64_t pieces;        ///< of a tile of the gradient
  int64_t rows;          ///< of a tile, or of a piece
  bool isApart;          ///< contributions are still to be added up
  bool waits;            ///< for each sum until it is complete
  FragmentAttr layout;   ///< of a tile of the sums, or of a piece
  Value scale;           ///< null for 1
  QueryTile tile;        ///< or piece of a kv tile
};

/// Whether one entry can round all of them, as its kernels say.
LogicalResult checkRounded(ArrayRef<Rounded> all, const Kernels &kernels);

/// A thread's chunks from its first on. All loads first: what hides their latency is their number. `isWritten`: by others, since
/// the launch.
SmallVector<SmallVector<Value>> loadChunks(PtxBuilder &b, Value first, int64_t count,
                                           bool isWritten = false);

/// Adds up the contributions to a tile that a thread has a line of chunks of, in the order of turns: its words, chunk by
/// chunk. `place` is where the thread's first is in a tile. Threads without rows load nothing: of a few rows of Q, most threads.
SmallVector<SmallVector<Value>> addContributions(EntryBuilder &b, const Rounded &one,
                                                 const Kernels &kernels, Value place,
                                                 Value hasRows);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_ROUNDED_H
