//===- Compare.h - what estimates of other methods share --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_WORLD_COMPARE_H
#define DASH_LIB_WORLD_COMPARE_H

#include "dash/World/WorldCost.h"
#include <algorithm>

namespace mlir::dash::world {

/// All heads of rows [first, end) over the context [0, end), with the prices of leaves, but without
/// their tails.
inline int64_t rowsTime(const World &world, int64_t first, int64_t end) {
  const WorldPrices &prices = world.problem().prices;
  double tasks = double(end - first) * double(end + first) / 2 / (64 * 128);
  double perGroup =
      tasks * double(prices.task) * double(world.group()) + double(end) / 128 * double(prices.item);
  return int64_t(perGroup * double(world.problem().kvHeads) / double(prices.workers));
}

/// The number of ranks that hold the longest document if all have equally many rows: a power of two
/// that divides the number of ranks, or all ranks.
inline int64_t ranksOfLongest(const World &world) {
  const WorldProblem &problem = world.problem();
  int64_t rows = 0, longest = 0, group = 1;
  for (int64_t length : problem.documents) {
    rows += length;
    longest = std::max(longest, length);
  }
  while (group < problem.ranks && group * rows < longest * problem.ranks)
    group *= 2;
  return problem.ranks % group ? problem.ranks : group;
}

/// Keys and values travel around all `size` ranks from `first` on, and in the second half their
/// gradients do. Each rank passes on the bytes of `rows`.
inline void goRound(const World &world, PassLoad &load, int64_t first, int64_t size, int64_t rows) {
  int64_t heads = world.problem().kvHeads;
  int64_t share = rows / size * (size - 1);
  for (int64_t i = 0; size > 1 && i < size; ++i) {
    load.phases[0].add(world, first + i, first + (i + 1) % size,
                       bytesOf(world, K | V, heads, share));
    load.phases[1].add(world, first + i, first + (i + 1) % size,
                       bytesOf(world, DK | DV, heads, share));
  }
}

inline PassLoad emptyLoad(const World &world) {
  int64_t ranks = world.problem().ranks;
  PassLoad load;
  load.compute.resize(ranks);
  load.folds.resize(ranks);
  load.phases.assign(2, Traffic(ranks));
  load.phases[0].name = "inputs";
  load.phases[1].name = "gradients";
  return load;
}

} // namespace mlir::dash::world

#endif // DASH_LIB_WORLD_COMPARE_H
