//===- ReportModule.cpp - what reports of a module share ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReportModule.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FileSystem.h"

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
    auto function = items->getParentOfType<FunctionOpInterface>();
    std::string name = function ? function.getName().str() : items.getOrder()->str();
    return WalkResult(report(op, std::move(name)));
  });
  return failure(result.wasInterrupted());
}

llvm::Error dash::writeReportFile(StringRef path,
                                  llvm::function_ref<void(llvm::raw_ostream &)> write) {
  auto writeAll = [&](llvm::raw_ostream &os) {
    write(os);
    os.flush();
    return llvm::Error::success();
  };
  llvm::sys::fs::file_status status;
  bool exists = path != "-" && !llvm::sys::fs::status(path, status);
  if (!exists || llvm::sys::fs::is_regular_file(status))
    return llvm::writeToOutput(path, writeAll);
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return llvm::createFileError(path, error);
  return writeAll(os);
}
