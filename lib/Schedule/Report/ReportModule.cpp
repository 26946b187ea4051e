//===- ReportModule.cpp - what reports of a module share ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReportModule.h"
#include "dash/Schedule/ScheduleIR.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult dash::forEachSchedule(
    Operation *module,
    llvm::function_ref<LogicalResult(ScheduleOp op, std::string function)> report) {
  llvm::SmallPtrSet<Operation *, 4> seen; // looked up only
  SymbolTableCollection symbols;
  WalkResult result = module->walk([&](ItemsOp items) {
    if (!items.isScheduled())
      return WalkResult::advance();
    auto op = symbols.lookupNearestSymbolFrom<ScheduleOp>(items, items.getOrderAttr());
    if (!seen.insert(op).second)
      return WalkResult::advance();
    return WalkResult(report(op, problemName(items)));
  });
  return failure(result.wasInterrupted());
}
