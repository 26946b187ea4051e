//===- Balance.h - move leaves until all are equally full ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_WORLD_BALANCE_H
#define DASH_LIB_WORLD_BALANCE_H

#include "dash/World/WorldCost.h"

namespace mlir::dash::world {

/// A leaf of a kv head: its number among all leaves (World::firstUnit), and its time at usual
/// speed.
struct Unit {
  int64_t number, time;
};

/// Units that may move between bins: ranks, or nodes.
struct Bins {
  std::vector<Unit> units;
  std::vector<int32_t> bin; ///< bin of each unit
  std::vector<int64_t> fixed,
      speeds; ///< for each bin: time that does not move, and speed in thousandths of the usual
};

/// Moves single units from the fullest bin to the emptiest, or exchanges two. Stops when no bin
/// takes longer than `aim`, or when nothing helps.
void balance(Bins &bins, int64_t aim);

} // namespace mlir::dash::world

#endif // DASH_LIB_WORLD_BALANCE_H
