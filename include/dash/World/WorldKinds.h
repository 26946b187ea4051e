//===- WorldKinds.h - ways to place leaves ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_WORLD_WORLDKINDS_H
#define DASH_WORLD_WORLDKINDS_H

#include "dash/World/WorldCost.h"

namespace mlir::dash::world {

/// A way to distribute a problem. Each file in lib/World/Kinds defines one; the build finds it by
/// its file name.
struct WorldKind {
  StringRef name;    ///< as `kind=` spells it
  StringRef summary; ///< one sentence, for reports
  /// The rank of each leaf; the result is verified. Null for kinds that only serve comparison.
  Owners (*place)(const World &world, uint64_t seed) = nullptr;
  /// For a kind that only serves comparison, which cuts rows anywhere: the time of its backward.
  /// The order of its sums depends on their places, so it is not of level `world`, and nothing
  /// executes it.
  PassLoad (*estimate)(const World &world) = nullptr;

  bool isLevelWorld() const { return place != nullptr; }
};

/// All kinds, by name.
ArrayRef<const WorldKind *> worldKinds();

/// The kind called `name`, or null.
const WorldKind *findWorldKind(StringRef name);

/// Places, completes and verifies a plan: every returned plan is proven.
llvm::Expected<WorldPlan> planWorld(const World &world, StringRef kind, uint64_t seed = 0);

} // namespace mlir::dash::world

#endif // DASH_WORLD_WORLDKINDS_H
