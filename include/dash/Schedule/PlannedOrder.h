//===- PlannedOrder.h - what the planner gives ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_PLANNEDORDER_H
#define DASH_SCHEDULE_PLANNEDORDER_H

#include "dash/Schedule/Verify.h"

namespace mlir::dash {

/// A proven order in the form that kernels read (dash/IR/OrderBuffer.h).
struct PlannedOrder {
  std::string kind; ///< what built it; with kind=auto, what was chosen
  std::vector<int32_t> words;
  ScheduleFacts facts;
  double lowerBound = 0;
};

/// What `kind=auto` takes for a problem.
struct OrderChoice {
  std::string kind;
  int64_t parts = 1;
  Apart apart = Apart::None;
  bool isTable = false; ///< for these sizes; else formulas of any
  double makespan = 0, lowerBound = 0;
};

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PLANNEDORDER_H
