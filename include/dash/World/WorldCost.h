//===- WorldCost.h - predict the time of a plan -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_WORLD_WORLDCOST_H
#define DASH_WORLD_WORLDCOST_H

#include "dash/World/WorldPlan.h"

namespace mlir::dash::world {

/// Bytes into and out of each rank in one exchange: from and to ranks of its own node, and of
/// others.
struct Traffic {
  explicit Traffic(int64_t ranks = 0)
      : linkIn(ranks), linkOut(ranks), networkIn(ranks), networkOut(ranks) {}
  void add(const World &world, int64_t from, int64_t to, int64_t bytes);

  StringRef name;
  std::vector<int64_t> linkIn, linkOut, networkIn, networkOut;
};

/// What ranks do in one pass of a layer. Times are picoseconds.
struct PassLoad {
  std::vector<int64_t> compute, folds; ///< for each rank, at its speed
  std::vector<Traffic> phases;
  int64_t time(int64_t rank) const { return compute[rank] + folds[rank]; }
};

/// The time of each rank for its folds, and for rounding their results.
std::vector<int64_t> foldTimes(const World &world, ArrayRef<Fold> folds);

PassLoad forwardLoad(const World &world, const WorldPlan &plan);
PassLoad backwardLoad(const World &world, const WorldPlan &plan);

/// The time to add two sums, of which the left one has `rows` rows: both are read, one is written.
int64_t foldTime(const World &world, int64_t kvHeads, int64_t rows);
/// The time of a leaf and of the fold that it causes: the one whose right child it begins.
int64_t unitTime(const World &world, int64_t document, int64_t leaf);

/// Picoseconds of a phase: its start-up, and the fullest port of any rank; 0 if nothing travels.
int64_t phaseTime(const World &world, const Traffic &traffic);

/// Figures of a pass.
struct Figures {
  double balance = 0;   ///< time if all ranks were equally full, over that of the fullest
  int64_t compute = 0;  ///< of the fullest rank, with folds
  int64_t exchange = 0; ///< all phases, one after the other
  int64_t layer =
      0; ///< the larger of both: two micro-batches alternate, one computes while the other travels
  double hidden = 0; ///< the share of the exchange that computing hides
  int64_t even = 0;  ///< the same leaves distributed evenly, without messages and folds
  int64_t uncut = 0; ///< the documents uncut, distributed evenly: the reference for the ratios
  double overEven = 0, overUncut = 0; ///< layer over these
  int64_t bound =
      0; ///< a bound for any plan: the larger of `even`, and the largest leaf on the fastest rank
  double meanIn = 0, meanOut = 0; ///< bytes of one rank
  double meanNetwork = 0;         ///< into a rank, across nodes
};

Figures figuresOf(const World &world, const PassLoad &load, bool isForward = false);

} // namespace mlir::dash::world

#endif // DASH_WORLD_WORLDCOST_H
