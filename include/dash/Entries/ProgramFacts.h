//===- ProgramFacts.h - what all entries of a program share ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_PROGRAMFACTS_H
#define DASH_ENTRIES_PROGRAMFACTS_H

#include "dash/Entries/EntryBuilder.h"
#include "dash/IR/Band.h"
#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Whether contributions to a gradient are kept apart.
inline bool isApart(Apart apart, StringRef gradient) {
  return apart == Apart::All || (apart == Apart::Parts && gradient != "dq");
}

/// What entries are built from, of the facts that their module states.
struct ProgramFacts {
  std::string name;  ///< entries are called name_role
  FloatType element; ///< of q, k, v, do and the gradients
  int64_t headDim = 0, qTile = 0, kvTile = 0;
  TileEdges edges;        ///< what the mask's edges say of tiles
  bool isOrdered = true;  ///< adds to dQ come in a fixed order, the first of a tile is a store
  int64_t minWorkers = 1; ///< that must be resident at once
  int64_t parts = 1;   ///< of a kv head's query heads; with several, sums of dK and dV are memory's
  bool isList = false; ///< of sequences, each with lengths of its own
  bool takesDelta = false;       ///< as a tensor, instead of o
  bool hasSink = false;          ///< whose gradient is computed, of each sequence and head
  Apart apart = Apart::None;     ///< contributions that are kept apart
  bool overlapsRounding = false; ///< sums are rounded while others are still added to

  bool isApart(StringRef gradient) const { return dash::isApart(apart, gradient); }

  /// In how many pieces a kv tile's sums leave, which are as large as a q tile's.
  int64_t numPieces() const { return kvTile / qTile; }
};

/// The region with a number a row, as kernels take it: LSE to base 2, or delta.
inline std::string rowsRegion(StringRef tensor) { return tensor == "lse" ? "lse2" : tensor.str(); }

/// Regions of the workspace that belong to the sums of a gradient.
inline std::string sumsRegion(StringRef gradient) { return (gradient + "_sum").str(); }
inline std::string turnsRegion(StringRef gradient) {
  return gradient == "dq" ? "turns" : (gradient + "_turns").str();
}
inline std::string contributionsRegion(StringRef gradient) {
  return gradient == "dq" ? "contributions" : (gradient + "_contributions").str();
}

/// How large it is: as many slots for each q tile as there are kv tiles, and for each kv tile as there are parts.
std::string contributionsBytes(StringRef gradient, TilesAttr tiles, int64_t headDim, int64_t parts);

/// The region with a number of each run of rows, whose sum is a sink's gradient.
constexpr StringLiteral sinkRegion = "sink_sum";
std::string sinkRegionBytes(int64_t qTile);
/// Runs of rows in a q tile.
inline int64_t sinkRuns(int64_t qTile) { return qTile / SinkGradientOp::rowsOfRun; }

/// What the counter of a tile is once its sum is complete, where somebody waits for that.
constexpr int64_t sumIsComplete = -1;

/// A module of kernels and what it says of itself.
struct Kernels {
  Operation *module;
  ProgramFacts facts;
};

/// What a `gpu.module` of kernels says of itself; says at it where it says nothing.
FailureOr<Kernels> readKernels(Operation *module);
/// The `gpu.module` that what `op`'s function does goes to. Says at `op` what to run first where there
/// is none.
FailureOr<Kernels> findKernels(Operation *op);

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// The parameters of an entry, in the order in which they are added.
class ParameterList {
public:
  /// A pointer and strides in elements: batch, head, and row unless the tensor is one number a row.
  ParameterList &tensor(StringRef name, bool isPerRow = false);
  ParameterList &pointer(StringRef name);          ///< alone
  ParameterList &stride(StringRef name);           ///< such as "dsink.stride.batch"
  ParameterList &sizes(ArrayRef<StringRef> names); ///< i32
  ParameterList &workspace(StringRef region);
  ParameterList &scale();

  operator ArrayRef<EntryBuilder::Parameter>() const { return parameters; }

private:
  SmallVector<EntryBuilder::Parameter> parameters;
};

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

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
QueryTile queryTileOfBlock(EntryBuilder &b, const ProgramFacts &facts, Value index = {});
/// The same of another grid: the block's tile, or piece of one, of the heads and rows of these sizes. `q` and `qTiles` count
/// pieces.
QueryTile tileOfBlock(EntryBuilder &b, StringRef heads, StringRef rows, int64_t rowsOfTile,
                      int64_t pieces = 1, Value index = {});

/// The name that dash-outline-program has given an argument of the function; empty if it has none.
StringRef nameOfArgument(Value value);

/// What a list's tiles are found by: sizes that entries of tiles of queries take as parameters, and regions.
void addListParameters(ParameterList &parameters);
/// Runs `body` where the tile is one of a sequence: everywhere, of a batch.
void whereTileIs(EntryBuilder &b, const QueryTile &tile, llvm::function_ref<void()> body);

/// Words of the record of a sequence in the order buffer: those of queries or of keys.
struct SequenceRows {
  Value end, rows, firstTile,
      extra; ///< extra: kv rows - query rows; of keys, the first line of visits
};
SequenceRows readSequence(PtxBuilder &b, Value order, Value sequence, bool isKeyValue);

/// The address of a row of a tensor parameter with elements of `bytes` bytes.
Value rowOf(EntryBuilder &b, StringRef tensor, int64_t bytes, const QueryTile &tile, Value row,
            bool isPerRow = false);
/// The address of a query tile in a region of the workspace with `bytes` bytes a tile.
Value tileOf(EntryBuilder &b, StringRef region, int64_t bytes, const QueryTile &tile);

/// The sum over the lanes of a warp, in each of them: in pairs of neighbours, those in pairs, and so on.
Value pairwiseSumOverWarp(PtxBuilder &b, Value f32);

/// The factor that an op states: a number, or the parameter `scale`.
Value scaleFactor(EntryBuilder &b, Value stated);

/// Where row `row` of a tile stands in a region of one number a row: blocks of 64, in each of which a
/// thread of the main kernel finds its rows in four 16-byte pieces.
Value permutedRow(PtxBuilder &b, Value row);

} // namespace mlir::dash

#endif // DASH_ENTRIES_PROGRAMFACTS_H
