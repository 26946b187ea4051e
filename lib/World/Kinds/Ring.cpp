//===- Ring.cpp - context parallelism over the packed sequence -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups as in `zigzag`, but this kind cuts the packed sequence, whatever documents it holds: equal
// rows, not equal work.
//
//===----------------------------------------------------------------------===//

#include "../Compare.h"
#include "dash/World/WorldKinds.h"

using namespace mlir::dash::world;

static PassLoad estimate(const World &world) {
  PassLoad load = emptyLoad(world);
  int64_t size = ranksOfLongest(world), ranks = world.problem().ranks;
  std::vector<int64_t> total(ranks / size), done(ranks / size);
  auto groupOf = [&](int64_t document) { return world.homesOf(document).front().rank / size; };
  for (int64_t document = 0; document < world.numDocuments(); ++document)
    total[groupOf(document)] += world.problem().documents[document];
  for (int64_t document = 0; document < world.numDocuments(); ++document) {
    int64_t rows = world.problem().documents[document], group = groupOf(document);
    for (int64_t piece = 0; piece < 2 * size; ++piece) {
      // The part of the sequence's piece that lies in this document.
      int64_t first = std::max<int64_t>(total[group] * piece / (2 * size) - done[group], 0);
      int64_t end = std::min(total[group] * (piece + 1) / (2 * size) - done[group], rows);
      if (first < end)
        load.compute[group * size + (piece < size ? piece : 2 * size - 1 - piece)] +=
            rowsTime(world, first, end);
    }
    done[group] += rows;
  }
  for (int64_t group = 0; group < ranks / size; ++group)
    goRound(world, load, group * size, size, total[group]);
  for (int64_t rank = 0; rank < ranks; ++rank)
    load.compute[rank] =
        (load.compute[rank] + size * world.problem().prices.launch) * 1000 / world.speedOf(rank);
  return load;
}

namespace mlir::dash::world::kinds {
extern const WorldKind Ring = {
    "ring", "the packed sequence cut over all ranks of a group, from both ends", nullptr, estimate};
} // namespace mlir::dash::world::kinds
