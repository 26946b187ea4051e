//===- ReportSchedule.cpp - show the orders of a module -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Report/ReportModule.h"
#include "dash/IR/Describe.h"
#include "dash/Schedule/Passes.h"
#include "dash/Schedule/Report.h"
#include "dash/Schedule/ScheduleIR.h"
#include "dash/Support/WriteFile.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_REPORTSCHEDULE
#include "dash/Schedule/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

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
    std::string text;
    llvm::raw_string_ostream os(text);
    write(os, *entries);
    if (llvm::Error error = writeFile(output, text)) {
      getOperation()->emitError() << "cannot write the report to '" << output.getValue()
                                  << "': " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    numReported += entries->size();
  }

private:
  FailureOr<std::vector<ReportEntry>> collect() {
    std::vector<ReportEntry> entries;
    LogicalResult result =
        forEachSchedule(getOperation(), [&](ScheduleOp op, std::string function) -> LogicalResult {
          const auto &proven = getChildAnalysis<ProvenSchedule>(op);
          if (!proven.isValid())
            return failure();
          const Schedule &schedule = proven.getSchedule();
          double makespan = predictMakespan(schedule);
          if (failed(verifyFits(op, schedule, makespan)))
            return failure();
          entries.push_back(
              {std::move(function), schedule, proven.getFacts(), makespan, lowerBound(schedule)});
          return success();
        });
    if (failed(result))
      return failure();
    return entries;
  }

  /// Fails if the format cannot show a schedule of this size.
  LogicalResult verifyFits(ScheduleOp op, const Schedule &schedule, double makespan) {
    int64_t tasks = schedule.problem.numTasks();
    if (format == ReportFormat::Svg && tasks > maxGanttTasks)
      return op.emitError() << "a picture shows at most " << maxGanttTasks << " tasks, got "
                            << tasks << "; report fewer heads or rows, or use format=json";
    if (format != ReportFormat::Trace)
      return success();
    if (tasks > maxTraceTasks)
      return op.emitError() << "a trace shows at most " << maxTraceTasks << " tasks, got " << tasks
                            << "; report fewer heads or rows, or use format=json";
    if (makespan > maxTraceTime)
      return op.emitError() << "a trace shows at most " << toDecimal(maxTraceTime)
                            << " microseconds, got a makespan of " << toDecimal(makespan)
                            << "; state costs in microseconds";
    return success();
  }

  void write(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries) {
    switch (format) {
    case ReportFormat::Table:
      return writeTable(os, entries, {maxSteps, maxWorkers});
    case ReportFormat::Json:
      return writeJson(os, entries);
    case ReportFormat::Svg:
      return writeGantt(os, entries);
    case ReportFormat::Trace:
      return writeTrace(os, entries);
    }
  }
};

} // namespace
