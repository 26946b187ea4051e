//===- Rows.cpp - leaves in order, all heads together ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/WorldKinds.h"

using namespace mlir::dash::world;

static Owners place(const World &world, uint64_t) {
  int64_t heads = world.problem().kvHeads, ranks = world.problem().ranks;
  double work = 0, speeds = 0, done = 0;
  for (int64_t document = 0; document < world.numDocuments(); ++document)
    for (int64_t leaf = 0; leaf < world.numLeaves(document); ++leaf)
      work += double(unitTime(world, document, leaf));
  for (int64_t rank = 0; rank < ranks; ++rank)
    speeds += double(world.speedOf(rank));
  Owners owners(world.numUnits());
  int32_t rank = 0;
  double end = work / speeds * double(world.speedOf(0));
  for (int64_t document = 0; document < world.numDocuments(); ++document)
    for (int64_t leaf = 0; leaf < world.numLeaves(document); ++leaf) {
      // The owner is the rank whose share holds the middle of the leaf.
      double time = double(unitTime(world, document, leaf));
      while (rank + 1 < ranks && done + time / 2 > end)
        end += work / speeds * double(world.speedOf(++rank));
      done += time;
      for (int64_t head = 0; head < heads; ++head)
        owners[world.firstUnit(document, head) + leaf] = rank;
    }
  return owners;
}

namespace mlir::dash::world::kinds {
extern const WorldKind Rows = {"rows", "leaves one behind the other, all heads of one on one rank",
                               place};
} // namespace mlir::dash::world::kinds
