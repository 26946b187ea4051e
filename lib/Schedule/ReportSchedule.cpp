//===- ReportSchedule.cpp - show the orders of a module -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Passes.h"
#include "dash/Schedule/Report.h"
#include "dash/Schedule/ScheduleIR.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FileSystem.h"

namespace mlir::dash {
#define GEN_PASS_DEF_REPORTSCHEDULE
#include "dash/Schedule/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Writes a file whole or not at all. Pipes and devices are written as they come.
static llvm::Error writeOutput(StringRef path,
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

namespace {

struct ReportSchedule : public dash::impl::ReportScheduleBase<ReportSchedule> {
  using ReportScheduleBase::ReportScheduleBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (maxSteps < 0 || maxWorkers < 0) {
      getOperation()->emitError() << "max-steps and max-workers must be at least 0, got "
                                  << maxSteps.getValue() << " and " << maxWorkers.getValue();
      return signalPassFailure();
    }
    FailureOr<std::vector<ReportEntry>> entries = collect();
    if (failed(entries))
      return signalPassFailure();
    if (entries->empty())
      getOperation()->emitWarning()
          << "no scheduled 'dash.items' to report; run --dash-tile and --dash-apply-schedule first";
    if (llvm::Error error =
            writeOutput(output, [&](llvm::raw_ostream &os) { write(os, *entries); })) {
      getOperation()->emitError() << "cannot write the report to '" << output.getValue()
                                  << "': " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    numReported += entries->size();
  }

private:
  /// The schedules in the order in which `dash.items` uses them, each once.
  FailureOr<std::vector<ReportEntry>> collect() {
    std::vector<ReportEntry> entries;
    llvm::SmallPtrSet<Operation *, 4> seen; // looked up only
    SymbolTableCollection symbols;
    WalkResult result = getOperation()->walk([&](ItemsOp items) {
      if (!items.isScheduled())
        return WalkResult::advance();
      auto op = symbols.lookupNearestSymbolFrom<ScheduleOp>(items, items.getOrderAttr());
      if (!seen.insert(op).second)
        return WalkResult::advance();
      const auto &proven = getChildAnalysis<ProvenSchedule>(op);
      if (!proven.isValid())
        return WalkResult::interrupt();
      const Schedule &schedule = proven.getSchedule();
      int64_t tasks = schedule.problem.numTasks();
      if (format == ReportFormat::Svg && tasks > maxGanttTasks) {
        op.emitError() << "a picture shows at most " << maxGanttTasks << " tasks, got " << tasks
                       << "; report fewer heads or rows, or use format=json";
        return WalkResult::interrupt();
      }
      entries.push_back({nameOf(items), schedule, proven.getFacts(), predictMakespan(schedule),
                         lowerBound(schedule)});
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    return entries;
  }

  static std::string nameOf(ItemsOp items) {
    auto function = items->getParentOfType<FunctionOpInterface>();
    return function ? function.getName().str() : items.getOrder()->str();
  }

  void write(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries) {
    switch (format) {
    case ReportFormat::Table:
      return writeTable(os, entries, {maxSteps, maxWorkers});
    case ReportFormat::Json:
      return writeJson(os, entries);
    case ReportFormat::Svg:
      return writeGantt(os, entries);
    }
  }
};

} // namespace
