//===- Alternative.cpp - another order of a problem -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Alternative.h"
#include "dash/Schedule/Cost.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

std::optional<ProvenOrder> dash::buildAlternative(ScheduleHeader header, MLIRContext *context,
                                                  Location loc) {
  // What another order cannot do is its own affair, and no error of this module.
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
  std::string text = "kind=auto takes " + describe(*choice);
  if (double least = choice->facts.makespan; least < makespan)
    text += llvm::formatv(", {0:f1} % less than this order", (1 - least / makespan) * 100).str();
  std::optional<ProvenOrder> next;
  for (const ScheduleKind *kind : scheduleKinds()) {
    if (kind->isUnordered || kind->isSearched || kind->name == choice->schedule.kind)
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
