//===- Places.h - where an entry finds tiles and rows ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_PLACES_H
#define DASH_ENTRIES_PLACES_H

#include "dash/Entries/EntryBuilder.h"
#include "dash/Entries/Kernels.h"

namespace mlir::dash {

/// A tile of queries, as i32 numbers. Tiles are counted q tiles fastest, then heads, then sequences of a batch; q tiles of
/// a list are counted through it.
struct QueryTile {
  Value index, batch, head, q;
  Value rows, kvRows; ///< of its sequence
  Value kvTiles;      ///< null of a batch: of all sequences
  Value firstRow;     ///< of the sequence
  Value firstOfList,
      isThere; ///< of a list: the sequence's first row in the tensor; whether a sequence has the tile
};

/// The grid of which each block has a tile of queries, and the tile of the block that runs, or of another index.
constexpr StringLiteral queryTileGrid = "batch*heads*q_tiles";
QueryTile queryTileOfBlock(EntryBuilder &b, const Kernels &kernels, Value index = {});
/// The same of another grid: the block's tile, or piece of one, of the heads and rows of these sizes. `q` and `qTiles` count
/// pieces.
QueryTile tileOfBlock(EntryBuilder &b, StringRef heads, StringRef rows, int64_t rowsOfTile,
                      int64_t pieces = 1, Value index = {});

/// Runs `body` where the tile is one of a sequence: everywhere, of a batch.
void whereTileIs(EntryBuilder &b, const QueryTile &tile, llvm::function_ref<void()> body);

/// Words of the record of a sequence in the order buffer: those of queries or of keys.
struct SequenceRows {
  Value end, rows, firstTile,
      extra; ///< extra: kv rows - query rows; of keys, the first line of visits
};
SequenceRows readSequence(PtxBuilder &b, Value order, Value sequence, bool isKeyValue);

/// The address of a row of a tensor parameter.
Value rowOf(EntryBuilder &b, TensorRoleAttr tensor, const QueryTile &tile, Value row);
/// The address of a query tile in a region of the workspace with `bytes` bytes a tile.
Value tileOf(EntryBuilder &b, StringRef region, int64_t bytes, const QueryTile &tile);

/// The sum over the lanes of a warp, in each of them: in pairs of neighbours, those in pairs, and so on.
Value pairwiseSumOverWarp(PtxBuilder &b, Value f32);

/// Where row `row` of a tile stands in a region of one number a row: blocks of 64, in each of which a
/// thread of the main kernel finds its rows in four 16-byte pieces.
Value permutedRow(PtxBuilder &b, Value row);

} // namespace mlir::dash

#endif // DASH_ENTRIES_PLACES_H
