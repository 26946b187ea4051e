//===- EstimateRun.h - estimate the time of a plan --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_SEARCH_ESTIMATERUN_H
#define DASH_LIB_SCHEDULE_SEARCH_ESTIMATERUN_H

#include "dash/Schedule/ListScheduler.h"

namespace mlir::dash {

/// Estimates what `runListScheduler` finds for a plan whose visits are chosen, item by item instead
/// of task by task. Workers beyond the number that the q tiles of their head can serve are slowed
/// down, and groups wait for room for their dQ. Each lane has one worker.
double estimateRun(const Problem &problem, const Plan &plan, const Cost &cost,
                   const Dispatch &dispatch);

/// Runs items on the first free worker as if none waited for a turn or for room in L2.
double runWithoutWaiting(const Plan &plan, const Cost &cost, int64_t workers);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_SEARCH_ESTIMATERUN_H
