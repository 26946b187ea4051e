//===- Alternative.h - another order of a problem --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_REPORT_ALTERNATIVE_H
#define DASH_LIB_SCHEDULE_REPORT_ALTERNATIVE_H

#include "dash/Schedule/ProvenOrder.h"

namespace mlir::dash {

/// Another order of the same problem: what comes of `header`, or nothing where it cannot be served. Says
/// nothing of errors.
std::optional<ProvenOrder> buildAlternative(ScheduleHeader header, MLIRContext *context,
                                            Location loc);

/// In words, on one line or two, what kind=auto takes for the problem of `schedule`, whose makespan is given,
/// and what it leaves: where the workers' time goes under both.
std::string explainChoice(const Schedule &schedule, double makespan, MLIRContext *context,
                          Location loc);

/// In words, on one line or two, what the parts of `schedule` cost, and, where `tries`, which number of them kind=auto takes.
std::string explainParts(const Schedule &schedule, bool tries, MLIRContext *context, Location loc);

/// Likewise which contributions wait for no turn, and what orders of its kind take that keep more or less apart.
std::string explainApart(const Schedule &schedule, bool tries, MLIRContext *context, Location loc);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPORT_ALTERNATIVE_H
