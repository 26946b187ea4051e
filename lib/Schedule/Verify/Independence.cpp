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
    result[s].resize(problem.kvHeads * schedule.parts * problem.numKvTiles(s));
  for (auto [index, item] : llvm::enumerate(schedule.items())) {
    int64_t kvTiles = problem.numKvTiles(item.sequence);
    result[item.sequence][(item.kvHead * schedule.parts + item.part) * kvTiles + item.kv] = index;
  }
  return result;
}

static LogicalResult verifyEqualSequences(const Schedule &schedule, EmitError emitError) {
  const Table &table = std::get<Table>(schedule.order());
  const auto &sequences = schedule.problem.sequences;
  std::vector<std::vector<int32_t>> items = itemsBySequence(schedule);
  // The first sequence with each pair of lengths. Looked up only, never iterated.
  llvm::DenseMap<std::pair<int64_t, int64_t>, size_t> firstOf;
  for (auto [s, lengths] : llvm::enumerate(sequences)) {
    auto [first, isNew] = firstOf.try_emplace({lengths.q, lengths.kv}, s);
    if (isNew)
      continue;
    for (auto [a, b] : llvm::zip_equal(items[first->second], items[s])) {
      const Item &itemA = schedule.items()[a], &itemB = schedule.items()[b];
      if (itemA.partTurn == itemB.partTurn && table.visitsOf(a) == table.visitsOf(b))
        continue;
      return emitError() << "level '" << stringifyDeterminismLevel(schedule.level)
                         << "' needs equal orders for equal sequences, but "
                         << describe(schedule, itemA) << " and " << describe(schedule, itemB)
                         << " differ in their visits or turns";
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
  if (!schedule.isTable())
    return success();
  return verifyEqualSequences(schedule, emitError);
}
