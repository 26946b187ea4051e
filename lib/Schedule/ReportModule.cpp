//===- ReportModule.cpp - what reports of a module share ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReportModule.h"
#include "dash/Schedule/ScheduleIR.h"
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
    return WalkResult(report(op, problemName(items)));
  });
  return failure(result.wasInterrupted());
}

llvm::Error dash::writeReportFile(StringRef path,
                                  llvm::function_ref<void(llvm::raw_ostream &)> write) {
  auto writeAll = [&](llvm::raw_fd_ostream &os) -> llvm::Error {
    write(os);
    os.flush();
    // A full disk shows here, and would end the process if nobody looked.
    if (!os.has_error())
      return llvm::Error::success();
    std::error_code error = os.error();
    os.clear_error();
    return llvm::createFileError(path, error);
  };
  if (path == "-")
    return writeAll(llvm::outs());
  // What a link points to is replaced, not the link.
  SmallString<128> target;
  llvm::sys::fs::file_status status;
  bool exists = !llvm::sys::fs::status(path, status) && !llvm::sys::fs::real_path(path, target);
  if (!exists || llvm::sys::fs::is_regular_file(status))
    return llvm::writeToOutput(exists ? StringRef(target) : path, [&](llvm::raw_ostream &os) {
      return writeAll(static_cast<llvm::raw_fd_ostream &>(os)); // of its temporary file
    });
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return llvm::createFileError(path, error);
  return writeAll(os);
}
