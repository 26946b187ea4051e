//===- Alternative.cpp - another order of a problem -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Alternative.h"
#include "dash/Schedule/BuildSchedule.h"
#include "dash/Schedule/ChooseOrder.h"
#include "dash/Schedule/ChooseParts.h"
#include "dash/Schedule/Cost.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace mlir;
using namespace mlir::dash;

std::optional<ProvenOrder> dash::buildAlternative(ScheduleHeader header, MLIRContext *context,
                                                  Location loc) {
  // What another order cannot do is not an error of this module.
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  auto emitError = [&] { return mlir::emitError(loc); };
  FailureOr<ProvenOrder> built =
      buildSchedule(std::move(header), /*asFormulas=*/false, context, emitError);
  if (failed(built))
    return std::nullopt;
  return std::move(*built);
}

/// "symmetric-shift 20.5 (0.0 % of the workers' time waiting, 1.2 % idle)".
static std::string describe(const ProvenOrder &order) {
  RunFigures figures = predictFigures(order.schedule);
  return llvm::formatv("{0} {1:f1} ({2:f1} % of the workers' time waiting, {3:f1} % idle)",
                       order.schedule.kind, order.facts.makespan,
                       (figures.waitForTurn + figures.waitForBuffer) * 100, figures.idle * 100);
}

std::string dash::explainChoice(const Schedule &schedule, double makespan, MLIRContext *context,
                                Location loc) {
  auto build = [&](StringRef kind) {
    ScheduleHeader header = schedule;
    header.kind = kind.str();
    header.unordered = false;
    return buildAlternative(std::move(header), context, loc);
  };
  std::optional<ProvenOrder> choice = build(autoKind);
  if (!choice)
    return "kind=auto serves no such problem";
  std::string text;
  if (schedule.problem.groupSize() > 1 || schedule.parts > 1)
    text = llvm::formatv("in as many parts ({0}) ", schedule.parts).str();
  text += "kind=auto takes " + describe(*choice);
  if (double least = choice->facts.makespan; least < makespan)
    text += llvm::formatv(", {0:f1} % less than this order", (1 - least / makespan) * 100).str();
  std::optional<ProvenOrder> next;
  for (const ScheduleKind *kind : scheduleKinds()) {
    if (!kind->isChosen(schedule.problem) || kind->isSearched ||
        kind->name == choice->schedule.kind)
      continue;
    std::optional<ProvenOrder> other = build(kind->name);
    if (other && (!next || other->facts.makespan < next->facts.makespan))
      next = std::move(other);
  }
  if (next)
    text +=
        "\nthe least predicted time of all kinds; the best other fixed kind is " + describe(*next);
  return text;
}

/// An item's share of its kv tile.
static std::string describeShare(const PartCut &cut) {
  if (!cut.hasRuns())
    return llvm::formatv("{0} query heads", cut.heads());
  return llvm::formatv("a query head's q tiles in {0} runs, one", cut.runs());
}

std::string dash::explainParts(const Schedule &schedule, bool tries, MLIRContext *context,
                               Location loc) {
  std::string text = "1: dK and dV need no sums in memory";
  if (schedule.parts > 1)
    text = llvm::formatv("{0} of {1} each: an item adds its dK and dV in {2:f1}, rounding the sums "
                         "takes {3:f1}",
                         schedule.parts, describeShare(schedule.cut()),
                         numPieces(schedule.problem, schedule.parts, schedule.cost) *
                             schedule.cost.piece,
                         roundingTime(schedule))
               .str();
  if (!tries)
    return text;
  std::string list;
  int64_t taken = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t parts : partsToTry(schedule)) {
    ScheduleHeader header = schedule;
    header.kind = autoKind;
    header.unordered = false;
    header.parts = parts;
    std::optional<ProvenOrder> order = buildAlternative(header, context, loc);
    if (!order)
      continue;
    double makespan = order->facts.makespan;
    list += llvm::formatv("{0}{1} {2} {3:f1}", list.empty() ? "" : ", ", parts,
                          parts == 1 ? "part" : "parts", makespan)
                .str();
    if (double rounding = roundingTime(header); rounding > 0)
      list += llvm::formatv(" + {0:f1}", rounding).str();
    if (double price = priceOf(header, makespan); price < least) {
      least = price;
      taken = parts;
    }
  }
  return text + llvm::formatv("\nkind=auto takes {0}: {1} with the rounding", taken, list).str();
}

std::string dash::explainApart(const Schedule &schedule, bool tries, MLIRContext *context,
                               Location loc) {
  auto describeTime = [](const ScheduleHeader &header, double makespan) {
    double rounding = roundingTime(header);
    return llvm::formatv("{0} {1:f1}{2}", stringifyApart(header.apart), makespan,
                         rounding > 0 ? llvm::formatv(" + {0:f1}", rounding).str() : "")
        .str();
  };
  constexpr llvm::StringLiteral texts[] = {
      "none: every contribution waits for the turn in front of it",
      "parts: contributions to dK and dV wait for no turn, and are added up behind the order",
      "all: no contribution waits for a turn, and all are added up behind the order"};
  std::string text = texts[size_t(schedule.apart)].str(), list;
  if (!tries)
    return text;
  for (Apart apart : apartToTry(schedule)) {
    ScheduleHeader header = schedule;
    header.apart = apart;
    if (std::optional<ProvenOrder> order = buildAlternative(header, context, loc))
      list += (list.empty() ? "" : ", ") + describeTime(header, order->facts.makespan);
  }
  return text + "\norders of this kind, with what comes behind them: " + list;
}
