//===- Random.cpp - leaves at random places, from a seed ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/Documents.h"
#include "dash/World/WorldKinds.h"

using namespace mlir::dash::world;

static Owners place(const World &world, uint64_t seed) {
  RandomNumbers random(seed);
  Owners owners(world.numUnits());
  for (int32_t &owner : owners)
    owner = random.below(world.problem().ranks);
  return owners;
}

namespace mlir::dash::world::kinds {
extern const WorldKind Random = {"random", "each leaf on any rank, by a seed", place};
} // namespace mlir::dash::world::kinds
