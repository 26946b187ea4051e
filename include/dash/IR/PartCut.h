//===- PartCut.h - how a kv tile's tasks are cut into parts ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_PARTCUT_H
#define DASH_IR_PARTCUT_H

#include "dash/IR/Problem.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

namespace mlir::dash {

/// How the tasks of a kv tile are cut into the parts of its kv head. With at most as many parts as
/// query heads in the group, a part is a run of heads. With more parts, a multiple of the heads, a
/// part is one head and a run of q tiles: the tile's active q tiles, ascending, are cut into runs
/// whose lengths differ by at most one. The cut depends only on the sequence, the mask and the
/// number of parts. An item that owns a q tile walks one kv head, in one part.
class PartCut {
public:
  /// Whether a group can be cut into this many parts.
  static bool isPossible(int64_t groupSize, int64_t parts) {
    return parts >= 1 && (groupSize % parts == 0 || parts % groupSize == 0);
  }

  /// Precondition: isPossible.
  PartCut(int64_t groupSize, int64_t parts)
      : groupSize(groupSize), numHeads(std::max<int64_t>(groupSize / parts, 1)),
        numRuns(std::max<int64_t>(parts / groupSize, 1)) {}
  PartCut(const Problem &problem, int64_t parts)
      : PartCut(problem.groupSize() / problem.tiles.fold, parts) {
    if (!problem.ownsQ())
      return;
    ownsQ = true;
    numHeads = numRuns = 1;
  }

  int64_t heads() const { return numHeads; } ///< of a part
  int64_t runs() const { return numRuns; }   ///< of q tiles
  bool hasRuns() const { return numRuns > 1; }

  /// The first head that an item of head `head` walks.
  int64_t firstHead(int64_t head, int64_t part) const {
    return ownsQ ? head / groupSize : head * groupSize + part / numRuns * numHeads;
  }
  /// The indices of a part's tiles among the `numTiles` active q tiles of a head.
  TileRange places(int64_t part, int64_t numTiles) const {
    int64_t run = part % numRuns;
    return {run * numTiles / numRuns, (run + 1) * numTiles / numRuns};
  }
  /// The smallest range that holds a part's tiles and no others of `active`; {0, 0} if it has none.
  TileRange tiles(int64_t part, const TileSet &active) const {
    TileRange hull = active.hull();
    if (!hasRuns())
      return hull;
    TileRange mine = places(part, active.size());
    if (mine.size() == 0)
      return {};
    if (active.size() == hull.size())
      return {hull.begin + mine.begin, hull.begin + mine.end};
    auto tiles = llvm::to_vector<0>(active.tiles());
    return {tiles[mine.begin], tiles[mine.end - 1] + 1};
  }
  /// The number of a part's tasks for a kv tile with this many active q tiles.
  int64_t numTasks(int64_t part, int64_t numTiles) const {
    return hasRuns() ? places(part, numTiles).size() : numHeads * numTiles;
  }

private:
  int64_t groupSize, numHeads, numRuns;
  bool ownsQ = false;
};

} // namespace mlir::dash

#endif // DASH_IR_PARTCUT_H
