//===- Report.h - show a schedule ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_REPORT_H
#define DASH_SCHEDULE_REPORT_H

#include "dash/Schedule/Cost.h"
#include "dash/Schedule/Verify.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dash {

/// A verified schedule with its facts.
struct ReportEntry {
  std::string op; ///< the function whose problem it orders
  const Schedule &schedule;
  ScheduleFacts facts;
  double makespan, lowerBound;
};

/// One JSON document; its schema is dialects/dash/Schedule/report.schema.json.
void writeJson(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries);

/// The rows and columns of a table to print; 0 is all.
struct TableLimits {
  int64_t steps = 64, workers = 12;
};

/// A table for people: the facts, then one task in each cell, with steps as rows and workers as
/// columns.
void writeTable(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries, TableLimits limits);

/// The most tasks that a picture can show.
constexpr int64_t maxGanttTasks = int64_t(1) << 22;

/// A picture of each worker over time: compute, reduction, waits, and the critical path.
void writeGantt(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries);

/// The most tasks, and the latest time, that a trace can show: viewers read it whole, and count
/// nanoseconds in 64 bits.
constexpr int64_t maxTraceTasks = int64_t(1) << 21;
constexpr double maxTraceTime = 1e12;

/// A trace in the format of Chrome and Perfetto: which worker computes, reduces, or waits for which
/// task.
void writeTrace(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries);

/// The prices of a cost that concern parts, by name, if not 0.
SmallVector<std::pair<StringRef, double>, 2> pricesOfParts(const Cost &cost);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_REPORT_H
