//===- ScheduleIR.h - schedules in and out of the IR -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_SCHEDULEIR_H
#define DASH_SCHEDULE_SCHEDULEIR_H

#include "dash/IR/DashOps.h"
#include "dash/Schedule/Verify.h"

namespace mlir::dash {

/// Writes a proven schedule as a `dash.schedule` called `name`, in its own form.
ScheduleOp createScheduleOp(OpBuilder &builder, Location loc, StringRef name,
                            const Schedule &schedule, const ScheduleFacts &facts);

/// The cost model that an attribute states.
Cost toCost(CostAttr cost);

/// Reads a schedule back. Fails with a message if a table does not fit the problem.
FailureOr<Schedule> readScheduleOp(ScheduleOp op, EmitError emitError);

/// The name of `items`' problem in reports: its function's name, and `name#1`, `name#2` … from a
/// function's second problem on.
std::string problemName(ItemsOp items);

/// A `dash.schedule` read back and proven, kept until a pass changes the module: verifying and
/// reporting share it. Errors are emitted when it is computed; later callers check `isValid`.
class ProvenSchedule {
public:
  explicit ProvenSchedule(Operation *op);

  bool isValid() const { return schedule.has_value(); }
  const Schedule &getSchedule() const { return *schedule; }
  const ScheduleFacts &getFacts() const { return facts; }

private:
  std::optional<Schedule> schedule;
  ScheduleFacts facts;
};

} // namespace mlir::dash

#endif // DASH_SCHEDULE_SCHEDULEIR_H
