//===- ReportModule.h - what reports of a module share ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_REPORTMODULE_H
#define DASH_LIB_SCHEDULE_REPORTMODULE_H

#include "dash/IR/DashOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dash {

/// Calls `report` with the schedules in the order in which `dash.items` uses them, each once, and
/// the name of the first function that does. Ends at the first failure.
LogicalResult
forEachSchedule(Operation *module,
                llvm::function_ref<LogicalResult(ScheduleOp op, std::string function)> report);

/// Writes a file whole or not at all. Pipes and devices are written as they come; - is standard
/// output.
llvm::Error writeReportFile(StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPORTMODULE_H
