//===- Home.cpp - each leaf at the home of its last row -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/WorldKinds.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::dash::world;

static Owners place(const World &world, uint64_t) {
  Owners owners;
  for (int64_t document = 0; document < world.numDocuments(); ++document)
    for (int64_t head = 0; head < world.problem().kvHeads; ++head)
      for (int64_t leaf = 0; leaf < world.numLeaves(document); ++leaf) {
        int64_t last = world.leafEnd(document, leaf) - 1;
        owners.push_back(llvm::partition_point(world.homesOf(document), [&](const Home &home) {
                           return home.end <= last;
                         })->rank);
      }
  return owners;
}

namespace mlir::dash::world::kinds {
extern const WorldKind Home = {"home", "each leaf where its last row lives", place};
} // namespace mlir::dash::world::kinds
