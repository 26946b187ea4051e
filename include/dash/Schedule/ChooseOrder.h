//===- ChooseOrder.h - the order with the least predicted time --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_CHOOSEORDER_H
#define DASH_SCHEDULE_CHOOSEORDER_H

#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/ProvenOrder.h"
#include "dash/Support/Limits.h"

namespace mlir::dash {

/// The value of `kind=` that leaves the choice to dash.
inline constexpr llvm::StringLiteral autoKind = "auto";

/// A searched order is a table, with one row for each task.
constexpr int64_t maxSynthesizedTasks = maxTableRows;

/// Shows the orders of the fixed kinds to `judge`, each proven. `judge` may take the schedule, and
/// returns the makespan above which the next one is not shown. Kinds that search, and unordered
/// ones, are left out.
LogicalResult forEachFixedKind(
    const ScheduleHeader &header, double limit, MLIRContext *context, EmitError emitError,
    llvm::function_ref<double(const ScheduleKind &, Schedule &, const ScheduleFacts &)> judge);

/// The order with the least predicted time for a problem as a whole: that of a fixed kind, proven,
/// or a table from a search. With kind=auto there is no search if a fixed kind is within
/// `goodEnough` of the lower bound.
struct ChosenOrder {
  const ScheduleKind *kind = nullptr; ///< null if it was searched for
  std::optional<ProvenOrder> proven;  ///< of a fixed kind
  Table found;
};
FailureOr<ChosenOrder> chooseOrder(const ScheduleHeader &header, MLIRContext *context,
                                   EmitError emitError);

/// The schedule of `header.kind` with the header's parts (at least 1), proven. Keeps apart what the
/// header says. With kind=auto the kind is chosen, and the schedule has its name:
///  - at level run the one with the least predicted time;
///  - from level batch on `synthesized`, which makes that choice for each sequence by itself;
///  - if the order must serve all sizes (`asFormulas`), or has too many tasks to write out (from
///    level batch on: a sequence by itself), the best of the fixed kinds; from level batch on for
///    one sequence, from machine on for one kv head.
FailureOr<ProvenOrder> buildOfKind(ScheduleHeader header, bool asFormulas, MLIRContext *context,
                                   EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_CHOOSEORDER_H
