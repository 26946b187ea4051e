//===- CompareSchedule.cpp - all kinds of orders side by side -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Report/ReportModule.h"
#include "dash/IR/Describe.h"
#include "dash/Schedule/BuildSchedule.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/Passes.h"
#include "dash/Schedule/Report.h"
#include "dash/Schedule/ScheduleIR.h"
#include "dash/Support/WriteFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <list>
#include <tuple>

namespace mlir::dash {
#define GEN_PASS_DEF_COMPARESCHEDULE
#include "dash/Schedule/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct CompareSchedule : public dash::impl::CompareScheduleBase<CompareSchedule> {
  using CompareScheduleBase::CompareScheduleBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    LogicalResult result =
        forEachSchedule(getOperation(), [&](ScheduleOp op, std::string function) -> LogicalResult {
          const auto &proven = getChildAnalysis<ProvenSchedule>(op);
          if (!proven.isValid())
            return failure();
          ++numCompared;
          return compare(op, proven.getSchedule(), std::move(function));
        });
    if (failed(result))
      return signalPassFailure();
    if (groups.empty())
      getOperation()->emitWarning() << "no scheduled 'dash.items' to compare; run --dash-tile and "
                                       "--dash-apply-schedule first";
    std::string text;
    llvm::raw_string_ostream os(text);
    write(os);
    if (llvm::Error error = writeFile(output, text)) {
      getOperation()->emitError() << "cannot write the comparison to '" << output.getValue()
                                  << "': " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
  }

private:
  LogicalResult compare(ScheduleOp op, const Schedule &schedule, std::string function) {
    int64_t tasks = schedule.problem.numTasks();
    if (tasks > maxGanttTasks)
      return op.emitError() << "kinds are compared up to " << maxGanttTasks << " tasks, got "
                            << tasks << "; state fewer heads or rows";
    std::vector<ReportEntry> &entries = groups.emplace_back();
    for (const ScheduleKind *kind : scheduleKinds()) {
      if (!kind->isUnordered && !kind->isChosen(schedule.problem))
        continue;
      ScheduleHeader header = schedule;
      header.kind = kind->name.str();
      // What one kind cannot do is not an error of this module.
      ScopedDiagnosticHandler quiet(&getContext(), [](Diagnostic &) { return success(); });
      auto emitError = [&] { return op.emitError(); };
      FailureOr<ProvenOrder> built =
          buildSchedule(std::move(header), /*asFormulas=*/false, &getContext(), emitError);
      if (failed(built))
        continue;
      const ScheduleFacts &facts = built->facts;
      const Schedule &kept = schedules.emplace_back(std::move(built->schedule));
      entries.push_back({function, kept, facts, facts.makespan, lowerBound(kept)});
    }
    // Entries refer to their schedules, so indices are sorted instead of entries.
    std::vector<const ReportEntry *> order;
    for (const ReportEntry &entry : entries)
      order.push_back(&entry);
    llvm::sort(order, [](auto *a, auto *b) {
      return std::tie(a->makespan, a->schedule.kind) < std::tie(b->makespan, b->schedule.kind);
    });
    std::vector<ReportEntry> sorted;
    for (const ReportEntry *entry : order)
      sorted.push_back(*entry);
    entries.swap(sorted);
    return success();
  }

  void write(llvm::raw_ostream &os) {
    if (format == ReportFormat::Svg) {
      std::vector<ReportEntry> all;
      for (const auto &entries : groups)
        for (const ReportEntry &entry : entries)
          all.push_back(entry);
      return writeGantt(os, all);
    }
    for (auto [index, entries] : llvm::enumerate(groups)) {
      os << (index == 0 ? "" : "\n");
      if (!entries.empty())
        writeRows(os, entries);
    }
  }

  static void writeRows(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries) {
    const Schedule &first = entries.front().schedule;
    os << "kinds of order for @" << entries.front().op << ": " << maskName(first.problem.mask)
       << " mask, q x kv rows " << describeSequences(first.problem) << ", " << first.problem.heads
       << " heads over " << first.problem.kvHeads << " kv heads, " << first.workers
       << " workers, level " << stringifyDeterminismLevel(first.level) << "\n";
    os << "kind              makespan  of bound    turns  buffers     idle  dQ in flight  resident "
          " "
          "form\n";
    for (const ReportEntry &entry : entries) {
      const Schedule &schedule = entry.schedule;
      RunFigures figures = predictFigures(schedule);
      double ratio = entry.lowerBound > 0 ? entry.makespan / entry.lowerBound : 1;
      os << llvm::formatv(
          "{0,-16} {1,9:f1} {2,9:f3} {3,6:f1} % {4,6:f1} % {5,6:f1} % {6,10:f1} MB {7,9}  {8}\n",
          schedule.kind, entry.makespan, ratio, figures.waitForTurn * 100,
          figures.waitForBuffer * 100, figures.idle * 100, figures.peakDqBytes / 1e6,
          entry.facts.minWorkers, schedule.isTable() ? "table" : "formulas");
    }
  }

  std::list<Schedule> schedules; ///< entries refer to them
  std::list<std::vector<ReportEntry>> groups;
};

} // namespace
