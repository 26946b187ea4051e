//===- Independence.cpp - what an order may depend on ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inputs of `visit` and `turn` name one sequence and `width`, but nothing of its neighbours or
// of the launch. So formulas keep every level as long as `width` does. A table could hold anything:
// from level batch on, equal sequences must have equal orders, wherever they stand.
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

/// The items of each sequence, in an order that does not depend on where they run.
static std::vector<std::vector<int32_t>> itemsBySequence(const Schedule &schedule) {
  const Problem &problem = schedule.problem;
  std::vector<std::vector<int32_t>> result(problem.numSequences());
  for (int64_t s : llvm::seq(problem.numSequences()))
    result[s].resize(problem.ownHeads() * schedule.partsOf(s) * problem.numOwnTiles(s));
  for (auto [index, item] : llvm::enumerate(schedule.items())) {
    int64_t tiles = problem.numOwnTiles(item.sequence), parts = schedule.partsOf(item.sequence);
    result[item.sequence][(item.head * parts + item.part) * tiles + item.tile] = index;
  }
  return result;
}

/// Whether a value or a condition of `visit` has the width as an input.
static bool dependsOnWidth(ArrayRef<FormulaPiece> visit) {
  unsigned width = getFormulaSignature("visit").getPosition("width");
  auto uses = [&](AffineExpr expr) { return expr.isFunctionOfSymbol(width); };
  return llvm::any_of(visit, [&](const FormulaPiece &piece) {
    return llvm::any_of(piece.value.getResults(), uses) ||
           (piece.hasCondition() && llvm::any_of(piece.condition.getConstraints(), uses));
  });
}

/// Two items of equal sequences that differ in their visits or turns, if there are any.
static std::optional<std::pair<int32_t, int32_t>> findUnequalItems(const Schedule &schedule) {
  const Table &table = std::get<Table>(schedule.order());
  const auto &sequences = schedule.problem.sequences;
  std::vector<std::vector<int32_t>> items = itemsBySequence(schedule);
  // The first sequence of each pair of lengths. Looked up only, never iterated.
  llvm::DenseMap<std::pair<int64_t, int64_t>, size_t> firstOf;
  for (auto [s, lengths] : llvm::enumerate(sequences)) {
    auto [first, isNew] = firstOf.try_emplace({lengths.q, lengths.kv}, s);
    if (isNew)
      continue;
    for (auto [a, b] : llvm::zip_equal(items[first->second], items[s]))
      if (schedule.items()[a].partTurn != schedule.items()[b].partTurn ||
          table.visitsOf(a) != table.visitsOf(b))
        return std::pair(a, b);
  }
  return std::nullopt;
}

static LogicalResult verifyEqualSequences(const Schedule &schedule, EmitError emitError) {
  auto unequal = findUnequalItems(schedule);
  if (!unequal)
    return success();
  return emitError() << "level '" << stringifyDeterminismLevel(schedule.level)
                     << "' needs equal orders for equal sequences, but "
                     << describe(schedule, schedule.items()[unequal->first]) << " and "
                     << describe(schedule, schedule.items()[unequal->second])
                     << " differ in their visits or turns";
}

/// Whether each item walks its tiles first to last, head after head.
static bool walksUpward(const Schedule &schedule) {
  const Table &table = std::get<Table>(schedule.order());
  auto isBehind = [](const Visit &visit, const Visit &next) {
    return std::pair(visit.head, visit.tile) < std::pair(next.head, next.tile);
  };
  for (int64_t i : llvm::seq<int64_t>(table.items.size()))
    if (ArrayRef<Visit> visits = table.visitsOf(i);
        std::adjacent_find(visits.begin(), visits.end(), std::not_fn(isBehind)) != visits.end())
      return false;
  return true;
}

DeterminismLevel dash::strongestLevel(const Schedule &schedule) {
  if (schedule.problem.hasChains())
    return schedule.level;
  // The same for any workers, if what was made for the sequence knows neither them nor its
  // neighbours. A table says nothing of what it was made from, so it has to be the plain order.
  bool isOwn = true;
  if (auto *formulas = std::get_if<Formulas>(&schedule.order()))
    isOwn = !dependsOnWidth(formulas->visit);
  else
    isOwn = walksUpward(schedule);
  return isOwn ? std::max(DeterminismLevel::Machine, schedule.level) : schedule.level;
}

/// At level `row`, kv tiles are visited upward: then a row's own tiles have one order, whatever
/// else its item walks.
static LogicalResult verifyVisitsUpward(const Schedule &schedule, EmitError emitError) {
  if (!schedule.problem.ownsQ())
    return emitError() << "level 'row' needs items that own q tiles";
  VisitReader reader(schedule);
  SmallVector<Visit, 0> storage;
  for (auto [index, item] : llvm::enumerate(schedule.items())) {
    FailureOr<ArrayRef<Visit>> visits = reader.read(index, storage);
    if (failed(visits))
      return failure(); // the proof of coverage has said why
    int32_t before = -1;
    for (const Visit &visit : *visits) {
      if (visit.tile <= before)
        return emitError() << "level 'row' needs visits upward, but " << describe(schedule, item)
                           << " visits kv tile " << visit.tile << " after kv tile " << before;
      before = visit.tile;
    }
  }
  return success();
}

LogicalResult dash::verifyIndependence(const Schedule &schedule, EmitError emitError) {
  if (schedule.level == DeterminismLevel::Run)
    return success();
  if (!schedule.isOrdered())
    return emitError() << "schedule 'unordered' adds in any order, so its bits may differ from run "
                          "to run: expected level run, got '"
                       << stringifyDeterminismLevel(schedule.level) << "'";
  if (schedule.level == DeterminismLevel::Row && failed(verifyVisitsUpward(schedule, emitError)))
    return failure();
  if (!schedule.isTable())
    return success();
  return verifyEqualSequences(schedule, emitError);
}
