//===- OrderPlanner.h - sizes in, order buffer out -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For runtimes whose sizes change from step to step: one PTX serves them all, and this makes the buffer
// that its main kernel reads.
//
//   OrderPlanner planner;
//   ScheduleHeader request;
//   request.kind = "auto";
//   request.workers = request.width = 132;
//   request.problem.mask = Mask::causal();
//   request.problem.heads = request.problem.kvHeads = 16;
//   request.problem.sequences = {{8192, 8192}};
//   request.cost = Prices::shipped().of(request.problem);
//   auto order = planner.plan(request); // llvm::Expected: check it
//   copyToDevice((*order)->words);
//
//===----------------------------------------------------------------------===//
#ifndef DASH_SCHEDULE_ORDERPLANNER_H
#define DASH_SCHEDULE_ORDERPLANNER_H

#include "dash/Schedule/PlannedOrder.h"
#include "dash/Schedule/Prices.h"
#include "llvm/Support/Error.h"
#include <functional>

namespace mlir::dash {

/// Where orders are kept between processes: the folder `orders` of that for caches (dash/Support/CacheFolder.h).
/// Empty, which is nowhere, where there is none.
std::string orderCacheFolder();

struct PlannerOptions {
  size_t mostKept = 64;                       ///< orders in memory,
  uint64_t mostKeptBytes = uint64_t(1) << 28; ///< which take as much together, or are one
  /// Orders on disk, at most 1 GB of them; empty keeps none. Several processes may share it.
  std::string cacheFolder = orderCacheFolder();
  /// Told once, by the first plan that could not be kept in the folder, why. Planning goes on without it.
  std::function<void(StringRef)> warn;
};

/// Makes orders, and keeps those that were asked for last, in memory and on disk. Safe to call from several
/// threads. The same request gives the same order, in every process and on every machine, whether it was
/// kept or not: it follows from the request and from the version of the search, and an order from the disk is
/// proven anew.
class OrderPlanner {
public:
  explicit OrderPlanner(PlannerOptions options = {});
  ~OrderPlanner();

  /// The order of a problem, whose `kind` is one of dash/Schedule/Kinds.h or "auto". Serves what kernels
  /// read as a table: stated parts, equal sequences, no bitmaps; else, or where no such order can be
  /// made, the error says why.
  llvm::Expected<std::shared_ptr<const PlannedOrder>> plan(const ScheduleHeader &request);

  /// What `kind=auto` takes for a problem, whatever kind the request has; with 0 parts their number is chosen, too. Kept like
  /// orders. An order that was searched for is kept as well, as that of a request for its kind and parts: one search does for both.
  llvm::Expected<OrderChoice> choose(ScheduleHeader request);

private:
  /// What `build` makes, one at a time, or what it said.
  template <typename ResultT>
  llvm::Expected<ResultT> run(const ScheduleHeader &request,
                              function_ref<FailureOr<ResultT>(EmitError)> build);

  struct State;
  std::unique_ptr<State> state;
};

} // namespace mlir::dash

#endif // DASH_SCHEDULE_ORDERPLANNER_H
