//===- WorldCost.h - predict what a plan takes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_WORLD_WORLDCOST_H
#define DASH_WORLD_WORLDCOST_H

#include "dash/World/WorldPlan.h"

namespace mlir::dash::world {

/// Bytes into and out of each rank in one exchange: from ranks of its own node, and of others.
struct Traffic {
  explicit Traffic(int64_t ranks = 0)
      : linkIn(ranks), linkOut(ranks), networkIn(ranks), networkOut(ranks) {}
  void add(const World &world, int64_t from, int64_t to, int64_t bytes);

  StringRef name;
  std::vector<int64_t> linkIn, linkOut, networkIn, networkOut;
};

/// What ranks do in one pass of a layer. Times are picoseconds.
struct PassLoad {
  std::vector<int64_t> compute, folds; ///< of each rank, at its speed
  std::vector<Traffic> phases;
  int64_t time(int64_t rank) const { return compute[rank] + folds[rank]; }
};

/// What each rank takes for its folds, and for rounding what they make.
std::vector<int64_t> foldTimes(const World &world, ArrayRef<Fold> folds);

PassLoad forwardLoad(const World &world, const WorldPlan &plan);
PassLoad backwardLoad(const World &world, const WorldPlan &plan);

/// Adding up two sums, of which the left one has so many rows: both are read, one is written.
int64_t foldTime(const World &world, int64_t kvHeads, int64_t rows);
/// A leaf, and the fold that it makes necessary: the one of which it begins the right child.
int64_t unitTime(const World &world, int64_t document, int64_t leaf);

/// Picoseconds of a phase: the fullest port of any rank, and what begins it; 0 where nothing travels.
int64_t phaseTime(const World &world, const Traffic &traffic);

/// What a pass shows.
struct Figures {
  double balance = 0;   ///< time of all ranks if all were equally full, over that of the fullest
  int64_t compute = 0;  ///< of the fullest rank, with folds
  int64_t exchange = 0; ///< all phases, one after the other
  int64_t layer =
      0; ///< the larger of both: two micro-batches take turns, one computes while the other travels
  double hidden = 0; ///< share of the exchange that computing hides
  int64_t even = 0;  ///< the same leaves shared out evenly: nothing travels, nobody folds
  int64_t uncut = 0; ///< the documents uncut, shared out evenly: what all of it is measured by
  double overEven = 0, overUncut = 0; ///< layer over these
  int64_t bound =
      0; ///< of any plan: the larger of `even`, and the largest leaf on the fastest rank
  double meanIn = 0, meanOut = 0; ///< bytes of a rank
  double meanNetwork = 0;         ///< into a rank, across nodes
};

Figures figuresOf(const World &world, const PassLoad &load, bool isForward = false);

} // namespace mlir::dash::world

#endif // DASH_WORLD_WORLDCOST_H
