//===- Replan.h - a kernel's order for other sizes -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CAPI_REPLAN_H
#define DASH_LIB_CAPI_REPLAN_H

#include "dash-c/Planner.h"
#include "dash/Launch/Outcome.h"
#include "dash/Schedule/OrderPlanner.h"

namespace mlir::dash {

/// A manifest, and the table that it names, if any.
struct PlannedFiles {
  std::string manifest, order, certificate;
};

/// What the compiler would make of a manifest's program for other sizes.
launch::Outcome replan(OrderPlanner &planner, StringRef manifest, ArrayRef<DashSize> sizes,
                       PlannedFiles &result);

/// The choice of `kind=auto` for a manifest's program at these sizes. With 0 parts it also chooses
/// their number. The kind's name lives as long as the library.
launch::Outcome choose(OrderPlanner &planner, StringRef manifest, ArrayRef<DashSize> sizes,
                       int64_t parts, DashChoice &result);

} // namespace mlir::dash

#endif // DASH_LIB_CAPI_REPLAN_H
