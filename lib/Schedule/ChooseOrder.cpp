//===- ChooseOrder.cpp - the order of least predicted time ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/ChooseOrder.h"
#include "dash/Schedule/LayoutSearch.h"
#include "dash/Schedule/Verify.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::dash;

static constexpr double infinity = std::numeric_limits<double>::infinity();

LogicalResult dash::verifyCountable(const Problem &problem, EmitError emitError) {
  double tasks = 0;
  for (int64_t s : llvm::seq(problem.numSequences()))
    tasks += double(problem.numQTiles(s)) * problem.numKvTiles(s) * problem.heads;
  if (tasks <= double(maxTasks))
    return success();
  return emitError()
         << "problem has more than " << maxTasks
         << " tasks over all heads and sequences, which is the most that can be scheduled";
}

LogicalResult
dash::forEachFixedKind(const ScheduleHeader &header, double limit, MLIRContext *context,
                       EmitError emitError,
                       llvm::function_ref<double(const ScheduleKind &, Schedule &, double)> judge) {
  for (const ScheduleKind *kind : scheduleKinds()) {
    if (kind->isSearched || kind->isUnordered)
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
      limit = judge(*kind, *schedule, facts->makespan);
  }
  return success();
}

FailureOr<ChosenOrder> dash::chooseOrder(const ScheduleHeader &header, const ScheduleKind &searched,
                                         MLIRContext *context, EmitError emitError) {
  ChosenOrder best{&searched, Table(), infinity};
  Table found;
  searchLayouts({header.problem, header.parts, header.workers, header.maxDqBytes, header.cost},
                [&](ListSchedule &run) {
                  best.makespan = run.makespan;
                  std::swap(found, run.table);
                  return run.makespan;
                });
  best.order = std::move(found);
  // Of two that take as long kind=auto takes the one that is formulas.
  double tie = header.kind == autoKind ? 1 + 1e-9 : 1;
  if (failed(forEachFixedKind(header, best.makespan * tie, context, emitError,
                              [&](const ScheduleKind &kind, Schedule &schedule, double makespan) {
                                best = {&kind, schedule.order(), makespan};
                                return makespan;
                              })))
    return failure();
  return best;
}

/// The best of the fixed kinds.
static FailureOr<const ScheduleKind *> chooseFixedKind(ScheduleHeader header, MLIRContext *context,
                                                       EmitError emitError) {
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
  const ScheduleKind *best = nullptr;
  if (failed(forEachFixedKind(header, infinity, context, emitError,
                              [&](const ScheduleKind &kind, Schedule &, double makespan) {
                                best = &kind;
                                return makespan;
                              })))
    return failure();
  return best;
}

static const ScheduleKind &searchedKind() {
  return **llvm::find_if(scheduleKinds(), [](auto *kind) { return kind->isSearched; });
}

FailureOr<Schedule> dash::buildSchedule(ScheduleHeader header, bool asFormulas,
                                        MLIRContext *context, EmitError emitError) {
  const ScheduleKind *kind = findScheduleKind(header.kind);
  if (header.kind == autoKind) {
    if (failed(verifyCountable(header.problem, emitError)))
      return failure();
    bool isLarge = header.problem.numTasks() > maxSynthesizedTasks;
    if (asFormulas || isLarge) {
      FailureOr<const ScheduleKind *> fixed = chooseFixedKind(header, context, emitError);
      if (failed(fixed))
        return failure();
      kind = *fixed;
    } else if (header.level == DeterminismLevel::Run) {
      FailureOr<ChosenOrder> chosen = chooseOrder(header, searchedKind(), context, emitError);
      if (failed(chosen))
        return failure();
      header.kind = chosen->kind->name.str();
      return Schedule::get(std::move(header), std::move(chosen->order), emitError);
    } else {
      kind = &searchedKind();
    }
  }
  if (!kind) {
    auto names = llvm::map_range(scheduleKinds(), [](auto *kind) { return kind->name; });
    return emitError() << "unknown schedule '" << header.kind << "', expected one of "
                       << llvm::join(names, ", ") << ", auto or file";
  }
  header.kind = kind->name.str();
  header.unordered = kind->isUnordered;
  FailureOr<Order> order = kind->build(header, context, emitError);
  if (failed(order))
    return failure();
  return Schedule::get(std::move(header), std::move(*order), emitError);
}
