//===- ChooseOrder.h - the order with the least predicted time --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_CHOOSEORDER_H
#define DASH_SCHEDULE_CHOOSEORDER_H

#include "dash/Schedule/Bundles.h"
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

/// Tasks of the largest sequence that is searched for alone, from level batch on; at level machine
/// of one of its kv heads. It is tried in many layouts, alone and in company.
constexpr int64_t mostTasksAlone = int64_t(5) << 16;

/// Whether kind=auto takes the best kind with formulas, without a search: where no table can hold
/// the order, and where a search would take over a second.
bool isTooLargeToSearch(const ScheduleHeader &header);

/// The fixed kind that kind=auto takes where it does not search; if `asFormulas`, one with formulas
/// if there is any. A large problem is judged by a smaller one of its shape.
struct FixedChoice {
  const ScheduleKind *kind = nullptr;
  bool isTable = false;
  double ofBound = 1; ///< predicted time over the lower bound
};
FailureOr<FixedChoice> chooseFixedKind(ScheduleHeader header, bool asFormulas, MLIRContext *context,
                                       EmitError emitError);

/// The fixed kind for all bundles of a problem where one is best for the first bundle, which takes
/// `ofBound` of its lower bound with it; null if bundles are better.
FailureOr<const ScheduleKind *> fixedKindForAll(ScheduleHeader header, double ofBound,
                                                MLIRContext *context, EmitError emitError);

/// The schedule of `header.kind` with the header's parts (at least 1), proven. Keeps apart what the
/// header says. With kind=auto the kind is chosen, and the schedule has its name:
///  - at level run the one with the least predicted time; for many tasks in bundles of heads
///    (dash/Schedule/Bundles.h);
///  - from level batch on `synthesized`, which makes that choice for each sequence by itself;
///  - if the order must serve all sizes (`asFormulas`), or is too large to search for, the best of
///    the fixed kinds; from level batch on for one sequence, from machine on for one kv head.
FailureOr<ProvenOrder> buildOfKind(ScheduleHeader header, bool asFormulas, MLIRContext *context,
                                   EmitError emitError);

/// The kind that searches.
const ScheduleKind &searchedKind();

} // namespace mlir::dash

#endif // DASH_SCHEDULE_CHOOSEORDER_H
