//===- Alternative.h - another order of a problem --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_ALTERNATIVE_H
#define DASH_LIB_SCHEDULE_ALTERNATIVE_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// Another order of the same problem.
struct Alternative {
  std::string request; ///< what to ask --dash-apply-schedule for, or the kind
  double makespan;
};

/// The kind and the makespan that come of `header`, or nothing where it cannot be served. Says nothing of errors.
std::optional<Alternative> buildAlternative(ScheduleHeader header, MLIRContext *context,
                                            Location loc);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_ALTERNATIVE_H
