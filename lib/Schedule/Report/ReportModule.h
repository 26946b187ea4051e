//===- ReportModule.h - what reports of a module share ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_REPORT_REPORTMODULE_H
#define DASH_LIB_SCHEDULE_REPORT_REPORTMODULE_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Calls `report` once for each schedule, in the order in which `dash.items` uses them, with the
/// name of the first function that does. Stops at the first failure.
LogicalResult
forEachSchedule(Operation *module,
                llvm::function_ref<LogicalResult(ScheduleOp op, std::string function)> report);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPORT_REPORTMODULE_H
