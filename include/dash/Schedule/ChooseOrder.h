//===- ChooseOrder.h - the order of least predicted time -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_CHOOSEORDER_H
#define DASH_SCHEDULE_CHOOSEORDER_H

#include "dash/Schedule/Kinds.h"

namespace mlir::dash {

/// What `kind=` says where the kind is to be chosen.
inline constexpr llvm::StringLiteral autoKind = "auto";

/// Tables of more tasks would fill gigabytes of text: searched orders are written out up to here.
constexpr int64_t maxSynthesizedTasks = int64_t(1) << 24;

/// Fails where the tasks of a problem are more than can be scheduled, and than 64 bits might count.
LogicalResult verifyCountable(const Problem &problem, EmitError emitError);

/// Shows the orders of the fixed kinds to `judge`, each proven, with its makespan; `judge` says which
/// makespan the next must not pass to be shown at all. Kinds that search, and unordered ones, are
/// left out.
LogicalResult
forEachFixedKind(const ScheduleHeader &header, double limit, MLIRContext *context,
                 EmitError emitError,
                 llvm::function_ref<double(const ScheduleKind &, Schedule &, double)> judge);

/// The order of least predicted time of a problem as a whole, and the kind that it is of: a fixed kind,
/// or `searched` where a search found a shorter one.
struct ChosenOrder {
  const ScheduleKind *kind;
  Order order;
  double makespan;
};
FailureOr<ChosenOrder> chooseOrder(const ScheduleHeader &header, const ScheduleKind &searched,
                                   MLIRContext *context, EmitError emitError);

/// The schedule of `header.kind`, not yet proven. With kind=auto the kind is chosen, and the schedule has
/// its name:
///  - at level run the one of least predicted time;
///  - from level batch on `synthesized`, which makes that choice for each sequence by itself;
///  - where the order must serve all sizes (`asFormulas`), or has more tasks than are written out, the
///    best of the fixed kinds; from level batch on for one sequence, from machine on for one kv head.
FailureOr<Schedule> buildSchedule(ScheduleHeader header, bool asFormulas, MLIRContext *context,
                                  EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_CHOOSEORDER_H
