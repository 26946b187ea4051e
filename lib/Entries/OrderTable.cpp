//===- OrderTable.cpp - the order of a module for its kernel -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Entries/OrderTable.h"
#include "dash/IR/PartCut.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::dash;

/// Rows of a table, as `#dash.table` orders their columns.
template <typename Row> static std::vector<Row> rowsOf(ElementsAttr elements) {
  auto values = cast<DenseIntElementsAttr>(elements).getValues<int32_t>();
  std::vector<int32_t> numbers(values.begin(), values.end());
  std::vector<Row> rows(numbers.size() * sizeof(int32_t) / sizeof(Row));
  std::copy(numbers.begin(), numbers.end(), reinterpret_cast<int32_t *>(rows.data()));
  return rows;
}

static bool isBelow(int64_t number, int64_t count) { return number >= 0 && number < count; }

/// Whether each item and each of its visits is within the problem.
static bool isOfProblem(const Problem &problem, int64_t parts, int64_t workers,
                        ArrayRef<Item> items, ArrayRef<Visit> visits) {
  PartCut cut(problem, parts);
  auto partsOf = [&](int64_t sequence) {
    return problem.isCut() ? problem.numKeyPieces(sequence) : parts;
  };
  const Visit *visit = visits.begin();
  for (const Item &item : items) {
    if (!isBelow(item.worker, workers) || !isBelow(item.sequence, problem.numSequences()) ||
        !isBelow(item.head, problem.ownHeads()) || !isBelow(item.part, partsOf(item.sequence)) ||
        !isBelow(item.tile, problem.numOwnTiles(item.sequence)))
      return false;
    int64_t numVisits =
        cut.numTasks(item.part, problem.activeWalked(item.sequence, item.tile, item.part).size());
    int64_t numTiles = problem.numWalkedTiles(item.sequence);
    auto isVisit = [&](const Visit &visit) {
      return isBelow(visit.head, problem.walkedHeads()) && isBelow(visit.tile, numTiles);
    };
    if (visits.end() - visit < numVisits || !std::all_of(visit, visit + numVisits, isVisit))
      return false;
    visit += numVisits;
  }
  return visit == visits.end();
}

FailureOr<std::vector<int32_t>> dash::encodeOrder(ScheduleOp schedule, bool isList,
                                                  function_ref<InFlightDiagnostic()> emitError) {
  TableAttr table = schedule.getTable();
  Problem problem = toProblem(schedule.getProblem());
  std::vector<Item> items = rowsOf<Item>(table.getItems());
  std::vector<Visit> visits = rowsOf<Visit>(table.getVisits());
  if (!isOfProblem(problem, schedule.getParts(), schedule.getWorkers(), items, visits))
    return emitError() << "table of order '@" << schedule.getSymName()
                       << "' is not one of its problem; --dash-verify-schedule says why";
  return encodeOrder(problem, schedule.getParts(), schedule.getWorkers(), items, visits, isList);
}

bool dash::mayWait(ScheduleOp schedule, Apart apart) {
  TableAttr table = schedule.getTable();
  if (apart == Apart::All || !schedule.hasChains())
    return false;
  if (!schedule.isOrdered() || schedule.getWorkers() == 1 || !table)
    return schedule.isOrdered() && schedule.getWorkers() > 1;
  Problem problem = toProblem(schedule.getProblem());
  std::vector<Visit> visits = rowsOf<Visit>(table.getVisits());
  int64_t parts = schedule.getParts();
  PartCut cut(problem, parts);
  std::vector<int64_t> firstQTile = {0}; // for each sequence of the list
  for (int64_t sequence : llvm::seq(problem.numSequences()))
    firstQTile.push_back(firstQTile.back() + problem.numQTiles(sequence));
  llvm::DenseMap<int64_t, int32_t> workers; // by chain, those over parts below 0; looked up only
  const Visit *visit = visits.data();
  for (const Item &item : rowsOf<Item>(table.getItems())) {
    int64_t kvHead = item.sequence * problem.kvHeads + item.head;
    int64_t partChain = -1 - (kvHead * problem.numKvTiles(0) + item.tile);
    if (parts > 1 && apart == Apart::None &&
        workers.try_emplace(partChain, item.worker).first->second != item.worker)
      return true;
    int64_t numVisits = cut.numTasks(item.part, problem.activeQ(item.sequence, item.tile).size());
    for (const Visit *end = visit + numVisits; visit != end; ++visit) {
      int64_t chain = visit->head * firstQTile.back() + firstQTile[item.sequence] + visit->tile;
      if (workers.try_emplace(chain, item.worker).first->second != item.worker)
        return true;
    }
  }
  return false;
}
