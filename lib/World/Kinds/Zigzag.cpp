//===- Zigzag.cpp - context parallelism, document by document --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks form groups that hold the longest document. A group computes the documents that begin in
// it. Each document is cut into twice as many pieces as there are ranks, and a rank gets one piece
// from the front and one from the back: equal work within a group, no balance between groups.
//
//===----------------------------------------------------------------------===//

#include "../Compare.h"
#include "dash/World/WorldKinds.h"

using namespace mlir::dash::world;

static PassLoad estimate(const World &world) {
  PassLoad load = emptyLoad(world);
  int64_t size = ranksOfLongest(world), ranks = world.problem().ranks;
  std::vector<int64_t> rowsOfGroup(ranks / size);
  for (int64_t document = 0; document < world.numDocuments(); ++document) {
    int64_t rows = world.problem().documents[document];
    int64_t group = world.homesOf(document).front().rank / size;
    rowsOfGroup[group] += rows;
    for (int64_t i = 0; i < size; ++i)
      for (int64_t piece : {i, 2 * size - 1 - i})
        load.compute[group * size + i] +=
            rowsTime(world, rows * piece / (2 * size), rows * (piece + 1) / (2 * size));
  }
  for (int64_t group = 0; group < ranks / size; ++group)
    goRound(world, load, group * size, size, rowsOfGroup[group]);
  for (int64_t rank = 0; rank < ranks; ++rank)
    load.compute[rank] =
        (load.compute[rank] + size * world.problem().prices.launch) * 1000 / world.speedOf(rank);
  return load;
}

namespace mlir::dash::world::kinds {
extern const WorldKind Zigzag = {
    "zigzag", "each document cut over all ranks of a group, from both ends", nullptr, estimate};
} // namespace mlir::dash::world::kinds
