//===- Explanation.cpp - a short text on an order -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every number comes from the cost model. Each alternative is built, proven and predicted like the
// schedule itself, so no advice is a guess.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "Alternative.h"
#include "dash/IR/Describe.h"
#include "dash/Schedule/ChooseParts.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

using namespace mlir;
using namespace mlir::dash;

/// More tasks would take seconds for each order built for comparison.
static constexpr int64_t maxComparedTasks = int64_t(1) << 22;
/// A search takes longer.
static constexpr int64_t maxSearchedTasks = int64_t(1) << 18;

namespace {

class Explanation {
public:
  Explanation(llvm::raw_ostream &os, const Schedule &schedule, const ScheduleFacts &facts,
              MLIRContext *context, Location loc)
      : os(os), schedule(schedule), facts(facts), context(context), loc(loc),
        kind(findScheduleKind(schedule.kind)), figures(predictFigures(schedule)) {}

  void write(StringRef function) {
    const Problem &problem = schedule.problem;
    os << "schedule " << schedule.kind << " of @" << function << "\n";
    row("problem") << maskName(problem.mask) << " mask, q x kv rows " << describeSequences(problem)
                   << ", " << problem.heads << " heads over " << problem.kvHeads << " kv heads\n";
    writeKind();
    writeWorkers();
    writeTime();
    if (schedule.problem.hasChains())
      writeMemory();
    writeParts();
    writeApart();
    writeLevel();
    writeChoice();
    writeFaster();
  }

private:
  llvm::raw_ostream &row(StringRef name) { return os << "  " << llvm::left_justify(name, 13); }

  /// A row whose text has one or two lines.
  void rows(StringRef name, StringRef text) {
    auto [first, second] = text.split('\n');
    row(name) << first << "\n";
    if (!second.empty())
      row("") << second << "\n";
  }

  static std::string percent(double share) { return llvm::formatv("{0:f1} %", share * 100); }
  static std::string times(double ratio) { return llvm::formatv("{0:f3} times", ratio); }
  static std::string rounded(double value) { return llvm::formatv("{0:f1}", value); }

  /// The makespan of `header`'s kind, or nothing if it cannot serve the problem.
  std::optional<double> predictOther(ScheduleHeader header) const {
    if (std::optional<ProvenOrder> other = buildAlternative(std::move(header), context, loc))
      return other->facts.makespan;
    return std::nullopt;
  }

  /// Whether a search is quick: from level batch on, one order is judged many times.
  bool canSearch() const {
    return canCompare() && schedule.level == DeterminismLevel::Run &&
           schedule.problem.numTasks() <= maxSearchedTasks;
  }

  bool canCompare() const {
    // Many items with few tasks take time too.
    int64_t work = std::max<int64_t>(schedule.problem.numTasks(), schedule.items().size());
    return work <= maxComparedTasks;
  }

  void writeKind() {
    if (!kind) {
      row("kind") << schedule.kind << ": made elsewhere; no builder is known for it\n";
      return;
    }
    row("kind") << kind->name << ": " << kind->summaryOf(schedule.problem.own) << "\n";
    if (kind->purpose && !schedule.problem.ownsQ())
      row("why") << kind->purpose(schedule.problem.mask) << "\n";
  }

  void writeWorkers() {
    row("workers") << schedule.workers << " lists, at least " << facts.minWorkers
                   << " resident at once";
    if (facts.minWorkers > 1)
      os << ": with fewer, some wait for ever for one that never starts";
    os << "\n";
    row("") << (facts.dynamicIssue
                    ? "items may be handed out at run time: none waits for a later one\n"
                    : "lists are fixed: items handed out at run time could wait for ever\n");
  }

  void writeTime() {
    double bound = lowerBound(schedule);
    row("makespan") << rounded(figures.makespan);
    if (bound > 0)
      os << ", " << times(figures.makespan / bound) << " the lower bound of " << rounded(bound);
    os << "\n";
    row("stall") << percent(figures.waitForTurn) << " of the workers' time waiting for turns, "
                 << percent(figures.waitForBuffer) << " for buffers, " << percent(figures.idle)
                 << " idle at the end\n";
  }

  void writeMemory() {
    row("dQ in flight") << llvm::formatv("{0:f1} MB", figures.peakDqBytes / 1e6) << " at most ("
                        << figures.peakDqBytes
                        << " bytes): f32 dQ of (sequence, head) pairs begun and not ended\n";
  }

  void writeParts() {
    if (schedule.parts > 1 || partsToTry(schedule).size() > 1)
      rows("parts", explainParts(schedule, canSearch(), context, loc));
  }

  void writeApart() {
    if (kind && schedule.hasTurns())
      rows("apart", explainApart(schedule, canSearch(), context, loc));
  }

  void writeLevel() {
    llvm::raw_ostream &line = row("level");
    if (!schedule.problem.hasChains()) {
      line << stringifyDeterminismLevel(schedule.level)
           << "; nothing is summed across items that own " << schedule.problem.ownTile()
           << "s, so the order keeps level " << stringifyDeterminismLevel(facts.keeps) << "\n";
      return;
    }
    if (!schedule.isOrdered()) {
      line << "none: adds come in any order, so the bits may differ from run to run\n";
      return;
    }
    line << stringifyDeterminismLevel(schedule.level);
    if (schedule.level == DeterminismLevel::Run) {
      line << ", the cheapest\n";
      return;
    }
    if (schedule.level == DeterminismLevel::Machine)
      line << " for " << schedule.width << " workers";
    if (!kind) {
      line << "; what level run would take is not known here\n";
      return;
    }
    if (!canCompare() || (kind->isSearched && schedule.problem.numTasks() > maxSearchedTasks)) {
      line << "; compared with level run up to "
           << (kind->isSearched ? maxSearchedTasks : maxComparedTasks) << " tasks and items only\n";
      return;
    }
    ScheduleHeader header = schedule;
    header.level = DeterminismLevel::Run;
    header.width = schedule.workers;
    if (std::optional<double> run = predictOther(std::move(header)); run && *run > 0)
      line << "; takes " << times(figures.makespan / *run)
           << " as long as at level run: " << rounded(*run) << "\n";
    else
      line << "; level run is not possible with these workers\n";
  }

  /// States what kind=auto takes, and why.
  void writeChoice() {
    if (!schedule.hasTurns())
      return;
    if (canSearch())
      return rows("auto", explainChoice(schedule, figures.makespan, context, loc));
    row("auto") << "kind=auto takes "
                << (schedule.level == DeterminismLevel::Run
                        ? "the kind of least predicted time"
                        : "'synthesized', which chooses for each sequence by itself")
                << "; tried here at level run, up to " << maxSearchedTasks << " tasks\n";
  }

  /// An alternative order, and the options of --dash-apply-schedule that give it.
  struct Alternative {
    std::string request;
    double makespan;
  };

  /// Other kinds, then other parts of this kind, if they can be built quickly. A different cost of
  /// rounding counts as the parts' cost.
  std::vector<Alternative> alternatives() const {
    std::vector<Alternative> result;
    auto consider = [&](std::string request, const ScheduleHeader &header) {
      if (std::optional<double> makespan = predictOther(header))
        result.push_back({request, *makespan + roundingTime(header) - roundingTime(schedule)});
    };
    for (const ScheduleKind *other : scheduleKinds()) {
      if (other == kind || !other->isChosen(schedule.problem) ||
          (other->isSearched && !canSearch()))
        continue;
      ScheduleHeader header = schedule;
      header.kind = other->name.str();
      header.unordered = false;
      consider(llvm::formatv("kind={0}", other->name), header);
    }
    if (!kind || kind->isSearched)
      return result;
    for (int64_t parts : partsToTry(schedule)) {
      if (parts == schedule.parts)
        continue;
      ScheduleHeader header = schedule;
      header.parts = parts;
      consider(llvm::formatv("parts={0}", parts), header);
    }
    return result;
  }

  void writeFaster() {
    if (!canCompare()) {
      row("faster") << "not looked for: other orders are compared up to " << maxComparedTasks
                    << " tasks and items\n";
      return;
    }
    std::vector<Alternative> all = alternatives();
    llvm::sort(all, [](auto &a, auto &b) {
      return std::tie(a.makespan, a.request) < std::tie(b.makespan, b.request);
    });
    bool isFastest = all.empty() || all.front().makespan >= figures.makespan;
    row("faster") << (isFastest ? "no other kind or number of parts that was tried" : "");
    bool isFirst = !isFastest;
    for (const Alternative &one : all) {
      if (one.makespan >= figures.makespan)
        break;
      os << (isFirst ? "" : ", ") << one.request << " takes " << rounded(one.makespan) << " ("
         << percent(1 - one.makespan / figures.makespan) << " less)";
      isFirst = false;
    }
    for (const ScheduleKind *searched : scheduleKinds())
      if (searched->isSearched && searched != kind && searched->isChosen(schedule.problem) &&
          !canSearch())
        os << "; kind=" << searched->name << " searches for one";
    os << "\n";
    writeSlower(all);
  }

  void writeSlower(ArrayRef<Alternative> all) {
    bool isFirst = true;
    for (const Alternative &one : all) {
      if (one.makespan < figures.makespan)
        continue;
      if (isFirst)
        row("not faster");
      os << (isFirst ? "" : ", ") << one.request << " " << rounded(one.makespan);
      isFirst = false;
    }
    if (!isFirst)
      os << "\n";
  }

  llvm::raw_ostream &os;
  const Schedule &schedule;
  const ScheduleFacts &facts;
  MLIRContext *context;
  Location loc;
  const ScheduleKind *kind; ///< null if it has no builder
  RunFigures figures;
};

} // namespace

void dash::writeExplanation(llvm::raw_ostream &os, StringRef function, const Schedule &schedule,
                            const ScheduleFacts &facts, MLIRContext *context, Location loc) {
  Explanation(os, schedule, facts, context, loc).write(function);
}
