//===- Places.h - where an entry finds tiles and rows ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_PLACES_H
#define DASH_ENTRIES_PLACES_H

#include "dash/Entries/EntryBuilder.h"
#include "dash/Entries/Kernels.h"

namespace mlir::dash {

/// A q tile, as i32 numbers. Tiles are counted with q tiles fastest, then heads, then the sequences
/// of a batch. The q tiles of a list are counted through the whole list.
struct QueryTile {
  Value index, batch, head, q;
  Value rows, kvRows; ///< of its sequence
  Value kvTiles;      ///< of all sequences; null for a batch
  Value firstRow;     ///< of the sequence
  Value firstOfList,
      /// for a list: the sequence's first row in the tensor, and whether a sequence has the tile
      isThere;
};

/// The grid with one q tile for each block, and the tile of the current block or of another index.
constexpr StringLiteral queryTileGrid = "batch*heads*q_tiles";
QueryTile queryTileOfBlock(EntryBuilder &b, const Kernels &kernels, Value index = {});
/// The same for another grid: the block's tile, or piece of a tile, for these heads and rows. `q`
/// and `qTiles` count pieces.
QueryTile tileOfBlock(EntryBuilder &b, StringRef heads, StringRef rows, int64_t rowsOfTile,
                      int64_t pieces = 1, Value index = {});

/// Runs `body` if the tile belongs to a sequence; in a batch, every tile does.
void whereTileIs(EntryBuilder &b, const QueryTile &tile, llvm::function_ref<void()> body);

/// Words of a sequence's record in the order buffer, for queries or for keys.
struct SequenceRows {
  Value end, rows, firstTile,
      extra; ///< for queries: kv rows - q rows; for keys: the first line of visits
};
SequenceRows readSequence(PtxBuilder &b, Value order, Value sequence, bool isKeyValue);

/// The address of a row of a tensor parameter.
Value rowOf(EntryBuilder &b, TensorRoleAttr tensor, const QueryTile &tile, Value row);
/// The address of a q tile in a region of the workspace with `bytes` bytes for each tile.
Value tileOf(EntryBuilder &b, StringRef region, int64_t bytes, const QueryTile &tile);

/// The sum over the lanes of a warp, in each of them: pairs of neighbours, then pairs of pairs, and
/// so on.
Value pairwiseSumOverWarp(PtxBuilder &b, Value f32);

/// The position of row `row` of a tile in a region with one number for each row. In each block of
/// 64, a thread of the main kernel finds its rows in four 16-byte pieces.
Value permutedRow(PtxBuilder &b, Value row);

} // namespace mlir::dash

#endif // DASH_ENTRIES_PLACES_H
