//===- ChooseOrder.h - the order of least predicted time -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_CHOOSEORDER_H
#define DASH_SCHEDULE_CHOOSEORDER_H

#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/ProvenOrder.h"
#include "dash/Support/Limits.h"

namespace mlir::dash {

/// What `kind=` says where the kind is to be chosen.
inline constexpr llvm::StringLiteral autoKind = "auto";

/// A searched order is a table, with a row for each task.
constexpr int64_t maxSynthesizedTasks = maxTableRows;

/// Shows the orders of the fixed kinds to `judge`, each proven; `judge`, which may take the schedule, says
/// which makespan the next must not pass to be shown at all. Kinds that search, and unordered ones,
/// are left out.
LogicalResult forEachFixedKind(
    const ScheduleHeader &header, double limit, MLIRContext *context, EmitError emitError,
    llvm::function_ref<double(const ScheduleKind &, Schedule &, const ScheduleFacts &)> judge);

/// The order of least predicted time of a problem as a whole: that of a fixed kind, proven, or a table that
/// a search found. With kind=auto nothing is searched for where a fixed kind is within `goodEnough` of the least.
struct ChosenOrder {
  const ScheduleKind *kind = nullptr; ///< null where it was searched for
  std::optional<ProvenOrder> proven;  ///< of a fixed kind
  Table found;
};
FailureOr<ChosenOrder> chooseOrder(const ScheduleHeader &header, MLIRContext *context,
                                   EmitError emitError);

/// The schedule of `header.kind` in its parts, which are at least 1, proven; keeps apart what the header says. With kind=auto the kind
/// is chosen, and the schedule has its name:
///  - at level run the one of least predicted time;
///  - from level batch on `synthesized`, which makes that choice for each sequence by itself;
///  - where the order must serve all sizes (`asFormulas`), or has more tasks than are written out (from
///    level batch on: a sequence by itself), the best of the fixed kinds; from level batch on for one
///    sequence, from machine on for one kv head.
FailureOr<ProvenOrder> buildOfKind(ScheduleHeader header, bool asFormulas, MLIRContext *context,
                                   EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_CHOOSEORDER_H
