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
  /// The step at which the walk of an own tile reaches a walked one, with the inputs of `turn`.
  /// Only its growth along a walk matters.
  Piecewise step;
};

/// An upper bound of the tasks of a problem, as if the mask hid none; a double, because 64 bits
/// might overflow.
double mostTasks(const Problem &problem);

/// Fails early if an order of the problem has too many tasks to write out.
LogicalResult verifyTableFits(const Problem &problem, EmitError emitError);

/// The part of `wide` that the problem's mask leaves: the formulas if the mask is theirs, else a
/// table in which each walk skips hidden tiles and each chain closes up. An order without cycles
/// stays so when tasks are removed.
FailureOr<Order> orderWithin(const ScheduleHeader &header, WideOrder wide, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_ORDERWITHIN_H
