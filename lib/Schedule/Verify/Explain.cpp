//===- Explain.cpp - say why a schedule is wrong --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs only after an error, so it may write out the whole order.
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

std::string dash::describe(const Schedule &schedule, const Item &item) {
  if (schedule.problem.isCut())
    return llvm::formatv("item (sequence {0}, head {1}, piece {2}, q tile {3})", item.sequence,
                         item.head, item.part, item.tile);
  if (schedule.problem.ownsQ())
    return llvm::formatv("item (sequence {0}, head {1}, q tile {2})", item.sequence, item.head,
                         item.tile);
  return llvm::formatv("item (sequence {0}, kv head {1}, part {2}, kv tile {3})", item.sequence,
                       item.head, item.part, item.tile);
}

LogicalResult dash::verifyItemRange(const ScheduleHeader &header, const Item &item, int64_t index,
                                    EmitError emitError) {
  const Problem &problem = header.problem;
  // A number below 0 becomes a large one. Every item of every order passes here.
  auto isBelow = [](int32_t value, int64_t size) { return uint32_t(value) < uint64_t(size); };
  if (isBelow(item.worker, header.workers) && isBelow(item.sequence, problem.numSequences()) &&
      isBelow(item.head, problem.ownHeads()) && isBelow(item.part, header.partsOf(item.sequence)) &&
      isBelow(item.partTurn, header.partsOf(item.sequence)) &&
      isBelow(item.tile, problem.numOwnTiles(item.sequence)))
    return !problem.isCut() || item.part == item.partTurn
               ? LogicalResult(success())
               : emitError() << "item " << index << " is of piece " << item.part
                             << " of the keys, expected the same number as its part turn, got "
                             << item.partTurn;
  auto check = [&](StringRef field, int64_t value, int64_t size) -> LogicalResult {
    if (value >= 0 && value < size)
      return success();
    return emitError() << "item " << index << " has " << field << " " << value << ", expected 0 to "
                       << size - 1;
  };
  if (failed(check("worker", item.worker, header.workers)) ||
      failed(check("sequence", item.sequence, problem.numSequences())) ||
      failed(check(problem.ownHead(), item.head, problem.ownHeads())) ||
      failed(check(problem.isCut() ? "piece" : "part", item.part, header.partsOf(item.sequence))) ||
      failed(check("part turn", item.partTurn, header.partsOf(item.sequence))))
    return failure();
  return check(problem.ownTile(), item.tile, problem.numOwnTiles(item.sequence));
}

namespace {

/// The item at each turn of each chain.
class TurnOwners {
public:
  explicit TurnOwners(const Schedule &schedule) : chains(schedule.problem) {
    const Problem &problem = schedule.problem;
    begin.reserve(chains.size() + 1);
    begin.push_back(0);
    for (int64_t s : llvm::seq(problem.numSequences()))
      for (int64_t i = 0, qTiles = problem.numQTiles(s); i < problem.heads * qTiles; ++i)
        begin.push_back(begin.back() + problem.activeKv(s, i % qTiles).size());
    owners.resize(begin.back(), -1);
  }
  int32_t &operator()(const Item &item, const Visit &visit) {
    return owners[begin[chains(item.sequence, visit.head, visit.tile)] + visit.turn];
  }

private:
  ChainIds chains;
  std::vector<int64_t> begin;
  std::vector<int32_t> owners;
};

} // namespace

/// Records the owner of each turn, if the turn is within its chain; `report` may stop it.
static LogicalResult forEachTurn(const Schedule &schedule,
                                 llvm::function_ref<LogicalResult(int64_t, const Visit &)> report) {
  VisitReader reader(schedule);
  SmallVector<Visit, 0> storage;
  for (auto [index, item] : llvm::enumerate(schedule.items())) {
    FailureOr<ArrayRef<Visit>> visits = reader.read(index, storage);
    if (failed(visits))
      return success();
    for (const Visit &visit : *visits) {
      bool isTask = visit.head >= 0 && visit.head < schedule.problem.heads && visit.tile >= 0 &&
                    visit.tile < schedule.problem.numQTiles(item.sequence) && visit.turn >= 0 &&
                    visit.turn < schedule.problem.activeKv(item.sequence, visit.tile).size();
      if (isTask && failed(report(index, visit)))
        return failure();
    }
  }
  return success();
}

LogicalResult dash::explainBrokenChain(const Schedule &schedule, EmitError emitError) {
  TurnOwners owners(schedule);
  return forEachTurn(schedule, [&](int64_t index, const Visit &visit) -> LogicalResult {
    const Item &item = schedule.items()[index];
    int32_t &owner = owners(item, visit);
    if (owner < 0) {
      owner = index;
      return success();
    }
    return emitError() << "turn " << visit.turn << " of q tile " << visit.tile << ", head "
                       << visit.head << ", sequence " << item.sequence << " is given to "
                       << describe(schedule, schedule.items()[owner]) << " and to "
                       << describe(schedule, item) << ", expected each turn once";
  });
}

/// "worker 3 in item (…) at q tile 2 of head 1 waits for turn 4".
static std::string describeWait(const Schedule &schedule, int64_t worker,
                                const ReplayState::Position &position, int64_t next) {
  const Item &item = schedule.items()[position.item];
  std::string where = describe(schedule, item);
  if (!position.visit)
    return llvm::formatv("worker {0} at the end of {1} waits for part turn {2}, which is at {3}",
                         worker, where, item.partTurn, next);
  return llvm::formatv("worker {0} in {1} at q tile {2} of head {3} waits for turn {4}, the chain "
                       "is at {5}",
                       worker, where, position.visit->tile, position.visit->head,
                       position.visit->turn, next);
}

LogicalResult dash::explainCycle(const Schedule &schedule, const ReplayState &replay,
                                 EmitError emitError) {
  TurnOwners owners(schedule);
  (void)forEachTurn(schedule, [&](int64_t index, const Visit &visit) {
    owners(schedule.items()[index], visit) = index;
    return success();
  });
  OwnTileIds kvTiles(schedule.problem);
  std::vector<int32_t> partOwner(kvTiles.size() * schedule.parts, -1);
  for (auto [index, item] : llvm::enumerate(schedule.items()))
    partOwner[kvTiles(item) * schedule.parts + item.partTurn] = index;

  // Follows each waiting worker to the one with the turn that its chain is at, until a worker
  // repeats.
  std::vector<int64_t> visitedAt(schedule.workers, -1);
  SmallVector<std::string> steps;
  int64_t worker = 0;
  auto isUnfinished = [&](int64_t w) { return replay.isUnfinished(w); };
  worker = *llvm::find_if(llvm::seq(schedule.workers), isUnfinished);
  while (visitedAt[worker] < 0) {
    visitedAt[worker] = steps.size();
    ReplayState::Position position = replay.position(worker);
    const Item &item = schedule.items()[position.item];
    int64_t next, owner;
    if (position.visit) {
      Visit due = *position.visit;
      due.turn = next = replay.nextTurn(replay.chainIds()(item.sequence, due.head, due.tile));
      owner = owners(item, due);
    } else {
      next = replay.nextPartTurn(item);
      owner = partOwner[kvTiles(item) * schedule.parts + next];
    }
    steps.push_back(describeWait(schedule, worker, position, next));
    worker = schedule.items()[owner].worker;
  }

  constexpr size_t mostNotes = 8;
  auto cycle = ArrayRef(steps).drop_front(visitedAt[worker]);
  InFlightDiagnostic error = emitError() << "order has a cycle: ";
  if (cycle.size() == 1)
    error << "1 worker waits for itself for ever";
  else
    error << cycle.size() << " workers wait for each other for ever";
  for (const std::string &step : cycle.take_front(mostNotes))
    error.attachNote() << step;
  if (cycle.size() > mostNotes)
    error.attachNote() << "and " << cycle.size() - mostNotes << " more";
  return error;
}
