//===- LayoutSearch.h - try layouts of a problem ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_LAYOUTSEARCH_H
#define DASH_SCHEDULE_LAYOUTSEARCH_H

#include "dash/Schedule/ListScheduler.h"

namespace mlir::dash {

/// Of what a search finds: raised with every change to it that may find another order.
constexpr int64_t searchVersion = 7;
/// Tasks that a search may simulate, over all layouts. A count and no time, so that a search finds the
/// same everywhere.
constexpr int64_t searchBudget = int64_t(1) << 17;

/// What is to be ordered as one: nothing outside of it may matter.
struct LayoutRequest {
  Problem problem;
  int64_t parts = 1, workers = 1;
  int64_t maxDqBytes = 0;
  Cost cost;
  Apart apart = Apart::None; ///< what waits for no turn
  /// How often the problem runs, one time after the other; the order of the middle one is taken. With
  /// more than one it suits workers that come from the problem before one by one.
  int64_t copies = 1;
};

/// The costs that orders are searched for with: hops from worker to worker last longer. An order that is best where every
/// hop takes its mean time leaves no room for one that takes more, and each of those delays all that follow.
Cost withSlowHops(Cost cost);

/// Lays the items out in several ways, simulates each with slow hops, and shows the runs to `judge`, which may take
/// one's table, and says before which makespan a run must end to be shown at all. Layouts differ in
/// how many heads run at once (few keep dQ in L2, many balance better), in whether long items come first, in how many workers
/// are on a head at once, and in where walks start. Their number depends on the problem alone. Where not all can be tried, and
/// the first guess is no good, an estimate says which of the others are.
void searchLayouts(const LayoutRequest &request, llvm::function_ref<double(ListSchedule &)> judge);

/// No run takes less: all work over all workers, and what the longest items make some worker take.
double leastMakespan(const LayoutRequest &request);
/// No run is much better than one that takes this times the least.
constexpr double goodEnough = 1.002;
/// With this a search is content once its budget is spent.
constexpr double soonEnough = 1.02;

} // namespace mlir::dash

#endif // DASH_SCHEDULE_LAYOUTSEARCH_H
