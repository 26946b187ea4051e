//===- EstimateRun.h - about how long a plan takes -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_SEARCH_ESTIMATERUN_H
#define DASH_LIB_SCHEDULE_SEARCH_ESTIMATERUN_H

#include "dash/Schedule/ListScheduler.h"

namespace mlir::dash {

/// About what `runListScheduler` would find of a plan whose visits are chosen, item by item instead of task by task: workers that are
/// more than the q tiles of their head can take are slowed down, and groups wait for room for their dQ. Lanes have a worker each.
double estimateRun(const Problem &problem, const Plan &plan, const Cost &cost,
                   const Dispatch &dispatch);

/// Of items that go to whoever is free first, if nobody waited for a turn nor for room in L2.
double runWithoutWaiting(const Plan &plan, const Cost &cost, int64_t workers);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_SEARCH_ESTIMATERUN_H
