//===- OrderPlanner.h - sizes in, order buffer out -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For runtimes whose sizes change from step to step: one PTX serves all sizes, and this planner
// makes the buffer that its main kernel reads.
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

/// The folder of orders kept between processes: `orders` in the folder of caches
/// (dash/Support/CacheFolder.h). Empty if there is none.
std::string orderCacheFolder();

struct PlannerOptions {
  size_t mostKept = 64;                       ///< orders in memory,
  uint64_t mostKeptBytes = uint64_t(1) << 28; ///< and their total bytes, unless there is only one
  /// Orders on disk, at most 1 GB; an empty folder stores none. Several processes may share it.
  std::string cacheFolder = orderCacheFolder();
  /// Called once, with the reason, by the first plan that the folder could not store. Planning
  /// continues without it.
  std::function<void(StringRef)> warn;
  /// Called while an order is made, with what is done, every 0.2 seconds at most.
  std::function<void(StringRef)> progress;
};

/// Makes orders, and keeps recent ones in memory and on disk. Thread-safe. The same request gives
/// the same order, in every process and on every machine, stored or not: it follows from the
/// request and the version of the search. An order from the disk is proven again.
class OrderPlanner {
public:
  explicit OrderPlanner(PlannerOptions options = {});
  ~OrderPlanner();

  /// The order of a problem whose `kind` is one of dash/Schedule/Kinds.h or "auto". Serves what
  /// kernels read as a table: stated parts, equal sequences, no bitmaps. Otherwise, or if no such
  /// order can be made, the error states the reason.
  llvm::Expected<std::shared_ptr<const PlannedOrder>> plan(const ScheduleHeader &request);

  /// What `kind=auto` takes for a problem, whatever kind the request has. With 0 parts it also
  /// chooses their number. Choices are stored like orders. A searched order is stored too, under a
  /// request for its kind and parts: one search serves both.
  llvm::Expected<OrderChoice> choose(ScheduleHeader request);

  /// How many tasks the planner has simulated or proven for all it was asked so far: a measure of
  /// its time that is the same everywhere. Orders from the memory take none.
  int64_t getWork() const;

private:
  /// The result of `build`, which runs one at a time, or its error.
  template <typename ResultT>
  llvm::Expected<ResultT> run(const ScheduleHeader &request,
                              function_ref<FailureOr<ResultT>(EmitError)> build);

  struct State;
  std::unique_ptr<State> state;
};

} // namespace mlir::dash

#endif // DASH_SCHEDULE_ORDERPLANNER_H
