//===- OrderWithin.h - a kind's order on any mask --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_ORDERWITHIN_H
#define DASH_SCHEDULE_ORDERWITHIN_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// A kind's order for a mask that hides no more than the problem's.
struct WideOrder {
  Mask mask;
  Formulas formulas;
  /// The step at which the walk of a kv tile comes to a q tile, with the inputs of `turn`. Only its
  /// growth along a walk counts.
  Piecewise step;
};

/// The tasks of a problem, or more, where 64 bits might not count them: as if the mask hid none.
double mostTasks(const Problem &problem);

/// Fails where an order of the problem has too many tasks to be written out, before anybody tries.
LogicalResult verifyTableFits(const Problem &problem, EmitError emitError);

/// The part of `wide` that the problem's mask leaves: the formulas, where the mask is theirs; else a
/// table, in which each walk skips the hidden tiles and each chain closes up. An order without
/// cycles stays so when tasks are taken out of it.
FailureOr<Order> orderWithin(const ScheduleHeader &header, WideOrder wide, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_ORDERWITHIN_H
