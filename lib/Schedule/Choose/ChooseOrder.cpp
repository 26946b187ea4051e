//===- ChooseOrder.cpp - the order with the least predicted time ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/ChooseOrder.h"
#include "Search/PackItems.h"
#include "dash/Schedule/LayoutSearch.h"
#include "dash/Schedule/OrderWithin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <limits>

using namespace mlir;
using namespace mlir::dash;

static constexpr double infinity = std::numeric_limits<double>::infinity();

LogicalResult dash::forEachFixedKind(
    const ScheduleHeader &header, double limit, MLIRContext *context, EmitError emitError,
    llvm::function_ref<double(const ScheduleKind &, Schedule &, const ScheduleFacts &)> judge) {
  if (header.cut().hasRuns() && !header.problem.mask.isFull())
    return success(); // no kind serves it
  for (const ScheduleKind *kind : scheduleKinds()) {
    if (kind->isSearched || kind->isUnordered || !kind->serves(header.problem.own))
      continue;
    FailureOr<Order> order = kind->build(header, context, emitError);
    if (failed(order))
      return failure();
    FailureOr<Schedule> schedule = Schedule::get(header, std::move(*order), emitError);
    if (failed(schedule))
      return failure();
    FailureOr<ScheduleFacts> facts = verifyWithin(*schedule, limit, emitError);
    if (failed(facts))
      return failure();
    if (facts->makespan < limit)
      limit = judge(*kind, *schedule, *facts);
  }
  return success();
}

FailureOr<ChosenOrder> dash::chooseOrder(const ScheduleHeader &header, MLIRContext *context,
                                         EmitError emitError) {
  LayoutRequest request{header.problem,    header.parts, header.workers,
                        header.maxDqBytes, header.cost,  header.apart};
  ChosenOrder best;
  auto take = [&](const ScheduleKind &kind, Schedule &schedule, const ScheduleFacts &facts) {
    best.kind = &kind;
    best.proven = {std::move(schedule), facts};
    return facts.makespan;
  };
  // On full masks, a search often cannot beat a fixed kind. On other masks, no fixed kind comes as
  // close.
  bool isAuto = header.kind == autoKind;
  double enough = leastMakespan(request) * goodEnough;
  if (isAuto && header.problem.mask.isFull() &&
      failed(forEachFixedKind(header, enough, context, emitError, take)))
    return failure();
  if (best.proven)
    return best;
  double found = infinity;
  searchLayouts(request, [&](ListSchedule &run) {
    std::swap(best.found, run.table);
    return found = run.makespan;
  });
  // If two orders take equally long, kind=auto takes the one with formulas.
  double tie = isAuto ? 1 + 1e-9 : 1;
  if (failed(forEachFixedKind(header, found * tie, context, emitError, take)))
    return failure();
  return best;
}

/// The best fixed kind. If an order must serve all sizes, the best one with formulas, if there are
/// any.
static FailureOr<const ScheduleKind *> chooseFixedKind(ScheduleHeader header, bool asFormulas,
                                                       MLIRContext *context, EmitError emitError) {
  if (header.level >= DeterminismLevel::Batch) {
    if (!llvm::all_equal(header.problem.sequences))
      return emitError() << "kind=auto cannot choose one kind for sequences of several lengths at "
                            "level '"
                         << stringifyDeterminismLevel(header.level)
                         << "' without looking at their neighbours: name a kind";
    header.problem.sequences.resize(1);
  }
  if (header.level >= DeterminismLevel::Machine) {
    header.problem.heads = header.problem.groupSize();
    header.problem.kvHeads = 1;
    header.workers = header.width;
  }
  if (failed(verifyFormulasServe(header, emitError)))
    return failure();
  const ScheduleKind *best = nullptr;
  auto choose = [&](bool takesTables) {
    double least = infinity;
    auto take = [&](const ScheduleKind &kind, Schedule &schedule, const ScheduleFacts &facts) {
      if (!takesTables && schedule.isTable())
        return least;
      best = &kind;
      return least = facts.makespan;
    };
    return forEachFixedKind(header, infinity, context, emitError, take);
  };
  if (failed(choose(/*takesTables=*/!asFormulas)) || (!best && failed(choose(true))))
    return failure();
  return best;
}

static const ScheduleKind &searchedKind() {
  return **llvm::find_if(scheduleKinds(), [](auto *kind) { return kind->isSearched; });
}

/// Whether no search could write out its order. From level batch on, each sequence is judged alone.
/// If a batch makes it too large, the searching kind refuses it; it never gets other bits.
static bool isTooLargeToSearch(const ScheduleHeader &header) {
  const Problem &problem = header.problem;
  if (header.level == DeterminismLevel::Run)
    return problem.numTasks() > maxSynthesizedTasks;
  return llvm::any_of(llvm::seq(problem.numSequences()), [&](int64_t s) {
    bool isKnown = s > 0 && problem.sequences[s] == problem.sequences[s - 1];
    return !isKnown && problem.numTasksPerHead(s) * problem.heads > maxSynthesizedTasks;
  });
}

static FailureOr<ProvenOrder> proveBuilt(ScheduleHeader header, const ScheduleKind &kind,
                                         Order order, EmitError emitError) {
  header.kind = kind.name.str();
  header.unordered = kind.isUnordered;
  if (kind.isSearched) {
    header.search = {searchVersion, searchBudget, header.maxDqBytes};
    if (auto *table = std::get_if<Table>(&order); table && header.parts == 1)
      dealEmptyItems(*table, header.cost, header.workers);
  }
  return dash::prove(Schedule::get(std::move(header), std::move(order), emitError), emitError);
}

FailureOr<ProvenOrder> dash::buildOfKind(ScheduleHeader header, bool asFormulas,
                                         MLIRContext *context, EmitError emitError) {
  if (failed(verifyWithinLimits(header, emitError)))
    return failure();
  header.search = std::nullopt;
  const ScheduleKind *kind = findScheduleKind(header.kind);
  if (failed(verifyApart(header, emitError)))
    return failure();
  if (header.kind == autoKind) {
    // Nothing waits without chains, so there is nothing to search for.
    if (asFormulas || !header.problem.hasChains() || isTooLargeToSearch(header)) {
      FailureOr<const ScheduleKind *> fixed =
          chooseFixedKind(header, asFormulas, context, emitError);
      if (failed(fixed))
        return failure();
      kind = *fixed;
    } else if (header.level == DeterminismLevel::Run) {
      FailureOr<ChosenOrder> chosen = chooseOrder(header, context, emitError);
      if (failed(chosen))
        return failure();
      if (!chosen->proven)
        return proveBuilt(std::move(header), searchedKind(), std::move(chosen->found), emitError);
      chosen->proven->schedule.kind = chosen->kind->name.str();
      return std::move(*chosen->proven);
    } else {
      kind = &searchedKind();
    }
  }
  if (!kind) {
    return emitError() << "unknown schedule '" << header.kind << "', expected one of "
                       << namesOfKinds(header.problem.own)
                       << (header.problem.ownsQ() ? " or auto" : ", auto or file");
  }
  if (!kind->serves(header.problem.own))
    return emitError() << "schedule '" << kind->name << "' serves no items that own "
                       << header.problem.ownTile() << "s: take " << namesOfKinds(header.problem.own)
                       << " or auto";
  header.kind = kind->name.str();
  header.unordered = kind->isUnordered;
  FailureOr<Order> order = kind->build(header, context, emitError);
  if (failed(order))
    return failure();
  return proveBuilt(std::move(header), *kind, std::move(*order), emitError);
}
