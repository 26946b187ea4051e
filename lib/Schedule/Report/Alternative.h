//===- Alternative.h - another order of a problem --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_REPORT_ALTERNATIVE_H
#define DASH_LIB_SCHEDULE_REPORT_ALTERNATIVE_H

#include "dash/Schedule/ProvenOrder.h"

namespace mlir::dash {

/// Another order of the same problem: the result of `header`, or nothing if it cannot be served.
/// Emits no errors.
std::optional<ProvenOrder> buildAlternative(ScheduleHeader header, MLIRContext *context,
                                            Location loc);

/// Text on one or two lines: what kind=auto takes for the problem of `schedule`, whose makespan is
/// given, and where the workers' time goes under both orders.
std::string explainChoice(const Schedule &schedule, double makespan, MLIRContext *context,
                          Location loc);

/// Text on one or two lines: what the parts of `schedule` cost and, if `tries`, which number of
/// them kind=auto takes.
std::string explainParts(const Schedule &schedule, bool tries, MLIRContext *context, Location loc);

/// Likewise, which contributions wait for no turn, and the makespans of orders of its kind that
/// keep more or fewer of them apart.
std::string explainApart(const Schedule &schedule, bool tries, MLIRContext *context, Location loc);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPORT_ALTERNATIVE_H
