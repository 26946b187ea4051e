//===- LayoutSearch.h - try layouts of a problem ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_LAYOUTSEARCH_H
#define DASH_SCHEDULE_LAYOUTSEARCH_H

#include "dash/Schedule/ListScheduler.h"

namespace mlir::dash {

/// The version of search results: raised with every change that may find another order.
constexpr int64_t searchVersion = 8;
/// Tasks that a search may simulate, over all layouts. A count instead of a time, so that a search
/// finds the same order everywhere.
constexpr int64_t searchBudget = int64_t(1) << 17;

/// What is ordered as one problem; nothing outside it may matter.
struct LayoutRequest {
  Problem problem;
  int64_t parts = 1, workers = 1;
  int64_t maxDqBytes = 0;
  Cost cost;
  Apart apart = Apart::None; ///< what waits for no turn
  /// The number of copies of the problem that run one after the other; the order of the middle one
  /// is taken. With more than one copy, the order suits workers that arrive one by one from the
  /// problem before.
  int64_t copies = 1;
};

/// The costs for a search: hops from worker to worker take longer. An order that is best when every
/// hop takes its mean time has no slack for a slower one, and each slow hop delays everything after
/// it.
Cost withSlowHops(Cost cost);

/// Lays out the items in several ways, simulates each with slow hops, and shows the runs to
/// `judge`. `judge` may take a run's table, and first states the makespan above which a run is not
/// shown. Layouts differ in how many heads run at once (few keep dQ in L2, many balance better),
/// whether long items come first, how many workers share a head, and where walks start. Their
/// number depends on the problem only. If not all can be tried and the first guess is bad, an
/// estimate decides which ones are.
void searchLayouts(const LayoutRequest &request, llvm::function_ref<double(ListSchedule &)> judge);

/// A lower bound for every run: all work over all workers, and what the longest items make some
/// worker take.
double leastMakespan(const LayoutRequest &request);
/// No run is much better than one within this factor of the lower bound.
constexpr double goodEnough = 1.002;
/// Within this factor, a search stops once its budget is spent.
constexpr double soonEnough = 1.02;

} // namespace mlir::dash

#endif // DASH_SCHEDULE_LAYOUTSEARCH_H
