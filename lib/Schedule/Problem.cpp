//===- Problem.cpp - the grid of tile tasks that a schedule orders --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A band leaves one range of a line's tiles active. Its ends come from the tile's first and last
// element: the columns seen by the rows [r0, r1] are [r0 + shift - left, r1 + shift + right], and the
// rows that see the columns [c0, c1] are [c0 - shift - right, c1 - shift + left]. A rule has one
// answer for all of a tile, so its first element is asked.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/Problem.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

BlocksAttr Mask::blocks() const {
  for (MaskRule rule : rules)
    if (auto blocks = dyn_cast<BlocksAttr>(rule))
      return blocks;
  return {};
}

bool TileSet::isSeen(int64_t tile) const {
  return llvm::all_of(rules, [&](MaskRule rule) {
    return rule.sees(row + tile * rowStep, column + tile * columnStep);
  });
}

int64_t TileSet::size() const {
  return rules.empty() ? range.size() : llvm::count_if(tiles(), [](int64_t) { return true; });
}

TileRange TileSet::hull() const {
  TileRange hull = range;
  while (hull.size() > 0 && !isSeen(hull.begin))
    ++hull.begin;
  while (hull.size() > 0 && !isSeen(hull.end - 1))
    --hull.end;
  return hull.size() > 0 ? hull : TileRange();
}

/// The tiles of `tile` elements that hold an element of [first, last], clipped to [0, length).
static TileRange tilesCovering(int64_t first, int64_t last, int64_t length, int64_t tile) {
  first = std::max<int64_t>(first, 0);
  last = std::min(last, length - 1);
  if (first > last)
    return {};
  return {first / tile, last / tile + 1};
}

TileSet Problem::activeQ(int64_t sequence, int64_t kv) const {
  const SequenceLengths &lengths = sequences[sequence];
  int64_t shift = lengths.kv - lengths.q;
  int64_t firstColumn = kv * tiles.kv;
  int64_t lastColumn = std::min(firstColumn + tiles.kv, lengths.kv) - 1;
  int64_t firstRow = mask.right < 0 ? 0 : firstColumn - shift - mask.right;
  int64_t lastRow = mask.left < 0 ? lengths.q - 1 : lastColumn - shift + mask.left;
  return TileSet(tilesCovering(firstRow, lastRow, lengths.q, tiles.q), mask.rules, /*row=*/0,
                 tiles.q, firstColumn, /*columnStep=*/0);
}

TileSet Problem::activeKv(int64_t sequence, int64_t q) const {
  const SequenceLengths &lengths = sequences[sequence];
  int64_t shift = lengths.kv - lengths.q;
  int64_t firstRow = q * tiles.q;
  int64_t lastRow = std::min(firstRow + tiles.q, lengths.q) - 1;
  int64_t firstColumn = mask.left < 0 ? 0 : firstRow + shift - mask.left;
  int64_t lastColumn = mask.right < 0 ? lengths.kv - 1 : lastRow + shift + mask.right;
  return TileSet(tilesCovering(firstColumn, lastColumn, lengths.kv, tiles.kv), mask.rules, firstRow,
                 /*rowStep=*/0, /*column=*/0, tiles.kv);
}

int64_t Problem::numTasksPerHead(int64_t sequence) const {
  int64_t tasks = 0;
  for (int64_t kv = 0, e = numKvTiles(sequence); kv < e; ++kv)
    tasks += activeQ(sequence, kv).size();
  return tasks;
}

int64_t Problem::numTasks() const {
  int64_t tasks = 0, perHead = 0;
  for (int64_t s = 0, e = numSequences(); s < e; ++s) {
    // A batch is a run of equal sequences: count one of them.
    if (s == 0 || !(sequences[s] == sequences[s - 1]))
      perHead = numTasksPerHead(s);
    tasks += perHead * heads;
  }
  return tasks;
}

SmallVector<int64_t> dash::shapeOfTensor(StringRef name, const Problem &problem, bool isList) {
  bool isKv = llvm::is_contained({"k", "v", "dk", "dv"}, name);
  bool isQuery = llvm::is_contained({"q", "dq", "do", "o", "lse", "delta"}, name);
  if (!isKv && !isQuery)
    return {};
  int64_t batch = isList ? 1 : problem.numSequences(), rows = 0;
  for (const SequenceLengths &lengths : problem.sequences) {
    int64_t sequenceRows = isKv ? lengths.kv : lengths.q;
    rows = isList ? rows + sequenceRows : sequenceRows;
  }
  SmallVector<int64_t> shape = {batch, isKv ? problem.kvHeads : problem.heads, rows};
  if (llvm::is_contained({"v", "dv", "do", "o"}, name))
    shape.push_back(problem.headDimV);
  else if (name != "lse" && name != "delta")
    shape.push_back(problem.headDim);
  return shape;
}
