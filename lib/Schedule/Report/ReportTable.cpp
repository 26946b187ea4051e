//===- ReportTable.cpp - a schedule for a person --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/Describe.h"
#include "dash/Schedule/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

/// "1 head", "2 heads".
static std::string counted(int64_t count, StringRef noun) {
  return llvm::formatv("{0} {1}{2}", count, noun, count == 1 ? "" : "s");
}

/// Rounds for reading; the exact numbers are in the JSON report.
static std::string rounded(double value) { return llvm::formatv("{0:f1}", value); }

static void writeCostOfSums(llvm::raw_ostream &os, const Schedule &schedule) {
  if (schedule.parts > 1 || schedule.problem.groupSize() > 1)
    for (auto [name, value] : pricesOfParts(schedule.cost))
      os << ", " << name << " " << toDecimal(value);
  os << ", " << counted(schedule.cost.buffers, "dQ buffer");
}

static void writeFacts(llvm::raw_ostream &os, const ReportEntry &entry) {
  const Schedule &schedule = entry.schedule;
  const Problem &problem = schedule.problem;
  const Cost &cost = schedule.cost;
  auto row = [&](StringRef name) -> llvm::raw_ostream & {
    return os << "  " << llvm::left_justify(name, 13);
  };
  os << "schedule " << schedule.kind << " of @" << entry.op << "\n";
  row("problem") << maskName(problem.mask) << " mask, q x kv rows " << describeSequences(problem)
                 << ", " << counted(problem.heads, "head") << " over "
                 << counted(problem.kvHeads, "kv head") << ", tiles " << problem.tiles.rowsOfQ()
                 << " x " << problem.tiles.kv << "\n";
  row("order");
  if (schedule.isOrdered())
    os << "level " << stringifyDeterminismLevel(schedule.level);
  else
    os << "adds in any order, not deterministic";
  os << ", made for " << counted(schedule.width, "worker") << ", "
     << counted(schedule.parts, "part") << ", " << (schedule.isTable() ? "a table" : "formulas")
     << (schedule.deal ? ", dealt by work" : "") << "\n";
  if (problem.isCut())
    row("cut") << "keys in pieces of " << problem.cut
               << " rows from each sequence's start, an item walks one\n";
  if (problem.tiles.fold > 1)
    row("fold") << "a q tile has " << counted(problem.tiles.q, "row") << " of each of "
                << problem.tiles.fold
                << " heads that share a kv head; heads of items count in such groups\n";
  if (!problem.hasChains())
    row("items") << "own " << problem.ownTile() << "s and walk " << problem.walkedTile()
                 << "s; nothing is summed across them, so the order keeps level "
                 << stringifyDeterminismLevel(entry.facts.keeps) << "\n";
  row("workers") << schedule.workers << ", at least " << entry.facts.minWorkers
                 << " resident; items may " << (entry.facts.dynamicIssue ? "" : "not ")
                 << "be handed out at run time\n";
  row("cost") << "compute " << toDecimal(cost.compute) << ", ";
  if (problem.hasChains())
    os << "reduce " << toDecimal(cost.reduce) << ", latency " << toDecimal(cost.latency) << ", ";
  os << "boundary " << toDecimal(cost.boundary);
  if (problem.hasChains())
    writeCostOfSums(os, schedule);
  os << "\n";
  row("makespan") << rounded(entry.makespan) << ", lower bound " << rounded(entry.lowerBound);
  if (entry.lowerBound > 0)
    os << llvm::formatv(": {0:f3} of it", entry.makespan / entry.lowerBound);
  os << "\n";
}

namespace {

/// The tasks of the first workers, each in its own order.
struct Columns {
  Columns(const Schedule &schedule, int64_t numWorkers, int64_t numSteps)
      : cells(numWorkers), length(numWorkers) {
    const Problem &problem = schedule.problem;
    VisitReader reader(schedule);
    SmallVector<Visit, 0> storage;
    for (auto [index, item] : llvm::enumerate(schedule.items())) {
      if (item.worker >= numWorkers)
        continue;
      std::vector<std::string> &column = cells[item.worker];
      int64_t numTasks = schedule.numTasks(item);
      length[item.worker] += numTasks;
      if (int64_t(column.size()) >= numSteps)
        continue;
      ArrayRef<Visit> visits = *reader.read(index, storage);
      for (const Visit &visit : visits.take_front(numSteps - column.size())) {
        std::string cell;
        if (problem.numSequences() > 1)
          cell += llvm::formatv("s{0} ", item.sequence);
        if (problem.heads > 1)
          cell += llvm::formatv("h{0} ", schedule.headOf(item, visit));
        cell +=
            llvm::formatv("{0},{1}", schedule.kvTileOf(item, visit), schedule.qTileOf(item, visit));
        column.push_back(std::move(cell));
      }
    }
  }

  std::vector<std::vector<std::string>> cells;
  std::vector<int64_t> length; ///< of all steps; the cells may show only the first
};

} // namespace

static void writeSteps(llvm::raw_ostream &os, const Schedule &schedule, TableLimits limits) {
  int64_t numWorkers =
      limits.workers == 0 ? schedule.workers : std::min(limits.workers, schedule.workers);
  int64_t maxSteps = limits.steps == 0 ? std::numeric_limits<int64_t>::max() : limits.steps;
  Columns columns(schedule, numWorkers, maxSteps);
  int64_t longest = *llvm::max_element(columns.length);

  os << "  cells:       " << (schedule.problem.numSequences() > 1 ? "s sequence, " : "")
     << (schedule.problem.heads > 1 ? "h head, " : "") << "kv tile,q tile\n\nstep |";
  std::vector<size_t> width;
  for (int64_t worker : llvm::seq(numWorkers)) {
    std::string title = llvm::formatv("w{0}", worker);
    width.push_back(title.size());
    for (const std::string &cell : columns.cells[worker])
      width.back() = std::max(width.back(), cell.size());
    os << " " << llvm::right_justify(title, width.back());
  }
  os << "\n";
  for (int64_t step : llvm::seq(std::min(longest, maxSteps))) {
    os << llvm::right_justify(llvm::utostr(step), 4) << " |";
    for (int64_t worker : llvm::seq(numWorkers)) {
      const std::vector<std::string> &column = columns.cells[worker];
      StringRef cell = step < int64_t(column.size()) ? StringRef(column[step]) : StringRef("-");
      os << " " << llvm::right_justify(cell, width[worker]);
    }
    os << "\n";
  }
  if (longest > maxSteps)
    os << " ... | " << counted(longest - maxSteps, "more step") << " (max-steps=0 prints all)\n";
  if (schedule.workers > numWorkers)
    os << " ... | " << counted(schedule.workers - numWorkers, "more worker")
       << " (max-workers=0 prints all)\n";
}

void dash::writeTable(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries, TableLimits limits) {
  llvm::interleave(
      entries,
      [&](const ReportEntry &entry) {
        writeFacts(os, entry);
        writeSteps(os, entry.schedule, limits);
      },
      [&] { os << "\n"; });
}
