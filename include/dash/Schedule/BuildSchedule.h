//===- BuildSchedule.h - the requested schedule -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_BUILDSCHEDULE_H
#define DASH_SCHEDULE_BUILDSCHEDULE_H

#include "dash/Schedule/ProvenOrder.h"

namespace mlir::dash {

/// The schedule of `header.kind`, proven. With kind=auto the kind is chosen
/// (dash/Schedule/ChooseOrder.h), and the schedule has its name. With 0 parts their number is
/// chosen too, and so is what is kept apart if the header allows it (dash/Schedule/ChooseParts.h).
FailureOr<ProvenOrder> buildSchedule(ScheduleHeader header, bool asFormulas, MLIRContext *context,
                                     EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_BUILDSCHEDULE_H
