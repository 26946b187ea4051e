//===- PlannedOrder.h - the result of the planner ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_PLANNEDORDER_H
#define DASH_SCHEDULE_PLANNEDORDER_H

#include "dash/Schedule/Verify.h"

namespace mlir::dash {

/// A proven order in the form that kernels read (dash/IR/OrderBuffer.h).
struct PlannedOrder {
  std::string kind; ///< the kind that built it; with kind=auto, the chosen one
  std::vector<int32_t> words;
  ScheduleFacts facts;
  double lowerBound = 0;
};

/// The choice of `kind=auto` for a problem.
struct OrderChoice {
  std::string kind;
  int64_t parts = 1;
  Apart apart = Apart::None;
  bool isTable = false; ///< for these sizes; otherwise formulas for any sizes
  double makespan = 0, lowerBound = 0;
};

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PLANNEDORDER_H
