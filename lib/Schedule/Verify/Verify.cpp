//===- Verify.cpp - prove a schedule --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One replay proves coverage, total order and progress together. A schedule has all three if its
// items pass their checks and every task ran when its turn came. Only if the replay stops early is
// the order written out to find the reason (Explain.cpp).
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/Verify.h"
#include "Explain.h"
#include "Replay/Clock.h"
#include "Replay/Replay.h"
#include "dash/Schedule/Progress.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/Sequence.h"
#include <utility>

using namespace mlir;
using namespace mlir::dash;

/// Every (sequence, kv head, part, kv tile) is one item, on one list, with one place in the chain
/// over the parts.
static LogicalResult verifyItems(const Schedule &schedule, EmitError emitError) {
  const Problem &problem = schedule.problem;
  OwnTileIds kvTiles(problem);
  int64_t parts = schedule.mostParts(), expected = numItems(problem, schedule.parts);
  if (int64_t(schedule.items().size()) != expected)
    return emitError() << "schedule has " << schedule.items().size() << " items, expected "
                       << expected << ": one for each sequence, " << problem.ownHead()
                       << (!problem.ownsQ()  ? ", part and "
                           : problem.isCut() ? ", piece and "
                                             : " and ")
                       << problem.ownTile();
  int64_t most = kvTiles.size() * parts;
  std::vector<int32_t> itemOf(most, -1), itemAtTurn(most, -1);
  for (auto [index, item] : llvm::enumerate(schedule.items())) {
    if (failed(verifyItemRange(schedule, item, index, emitError)))
      return failure();
    int64_t tile = kvTiles(item) * parts;
    if (int32_t other = itemOf[tile + item.part]; other >= 0)
      return emitError() << "items " << other << " (worker " << schedule.items()[other].worker
                         << ") and " << index << " (worker " << item.worker << ") are both "
                         << describe(schedule, item) << ", expected it once";
    if (int32_t other = itemAtTurn[tile + item.partTurn]; other >= 0)
      return emitError() << "part turn " << item.partTurn << " is given to items " << other
                         << " and " << index << ", both of kv tile " << item.tile << ", kv head "
                         << item.head << ", sequence " << item.sequence;
    itemOf[tile + item.part] = itemAtTurn[tile + item.partTurn] = index;
  }
  return success();
}

namespace {

/// The tiles that a mask with gaps leaves of the current sequences, and the share of each part of a
/// kv tile: computed once for all heads.
class SeenTiles {
public:
  SeenTiles(const Problem &problem, const PartCut &cut) : problem(problem), cut(cut) {}

  void enterSequence(int64_t sequence) {
    walkedTiles = problem.numWalkedTiles(sequence);
    shares.clear();
    isSeen.assign(problem.mask.isBand() ? 0 : walkedTiles * problem.numOwnTiles(sequence), false);
    for (int64_t own : llvm::seq(problem.numOwnTiles(sequence))) {
      TileSet active = problem.activeWalked(sequence, own);
      int64_t size = problem.mask.isBand() ? active.hull().size() : 0;
      if (!problem.mask.isBand())
        for (int64_t tile : active.tiles()) {
          isSeen[own * walkedTiles + tile] = true;
          ++size;
        }
      if (problem.isCut())
        addPieces(sequence, own);
      else
        for (int64_t run : llvm::seq(cut.runs()))
          shares.push_back({cut.tiles(run, active), cut.numTasks(run, size)});
    }
    lines = problem.isCut() ? problem.numKeyPieces(sequence) : cut.runs();
  }
  bool contains(int64_t own, int64_t tile) const {
    return isSeen.empty() || isSeen[own * walkedTiles + tile];
  }

  /// The tiles that an item walks in one head: the visible ones of a range.
  struct Share {
    TileRange tiles;
    int64_t numTasks; ///< over all heads of the item
  };
  const Share &shareOf(const Item &item) const {
    return shares[item.tile * lines + item.part % lines];
  }

private:
  void addPieces(int64_t sequence, int64_t own) {
    for (int64_t piece : llvm::seq(problem.numKeyPieces(sequence))) {
      TileSet active = problem.activeWalked(sequence, own, piece);
      shares.push_back({active.hull(), active.size()});
    }
  }

  const Problem &problem;
  PartCut cut;
  int64_t walkedTiles = 0, lines = 1; ///< shares of a tile
  std::vector<bool> isSeen;
  std::vector<Share> shares;
};

/// Checks each item's tasks against the mask, and whether anything waits for a later item. Tracks
/// the time, and gives up once it exceeds a limit.
class Proof {
public:
  Proof(const Schedule &schedule, double limit, EmitError emitError)
      : schedule(schedule), cost(schedule.paidCost()), emitError(emitError),
        hasTurns(schedule.hasTurns()), cut(schedule.cut()), numHeads(cut.heads()),
        seenTiles(schedule.problem, cut), workers(schedule.workers),
        chains(ChainIds(schedule.problem).size()), lastItem(chains.size(), -1),
        lastPart(schedule.parts > 1 ? OwnTileIds(schedule.problem).size() : 0, -1),
        pieces(numPieces(schedule.problem, schedule.parts, cost)),
        partChains(pieces > 0 ? lastPart.size() : 0), lost(cost, pieces),
        spare(lost.spare(limit, schedule.workers, schedule.problem.numTasks(),
                         numItemsWithTasks())) {}

  LogicalResult enterItem(int64_t index, ArrayRef<Visit> visits) {
    const Item &item = schedule.items()[index];
    int64_t firstHead = schedule.firstHead(item);
    enterSequence(item.sequence);
    const auto &[active, numTasks] = seenTiles.shareOf(item);
    int64_t numTiles = active.size();
    int32_t *marks = seen.data();
    const int32_t *chainLength = chainLengths.data();
    ++stamp;
    for (const Visit &visit : visits) {
      // A number below 0 becomes a large one.
      uint64_t head = visit.head - firstHead, q = visit.tile - active.begin;
      if (head >= uint64_t(numHeads) || q >= uint64_t(numTiles) ||
          !seenTiles.contains(item.tile, visit.tile))
        return refuseHidden(item, visit, active);
      int32_t &mark = marks[head * numTiles + q];
      if (mark == stamp)
        return emitError() << describe(schedule, item) << " visits "
                           << schedule.problem.walkedTile() << " " << visit.tile << " of "
                           << schedule.problem.walkedHead() << " " << visit.head << " twice";
      mark = stamp;
      if (uint32_t(visit.turn) >= uint32_t(chainLength[visit.tile]))
        return emitError() << describe(schedule, item) << " has turn " << visit.turn << " at "
                           << schedule.problem.walkedTile() << " " << visit.tile << " of "
                           << schedule.problem.walkedHead() << " " << visit.head
                           << ", expected 0 to " << chainLength[visit.tile] - 1;
    }
    if (int64_t(visits.size()) == numTasks)
      return success();
    return refuseMissing(item, active);
  }

  LogicalResult task(int64_t index, int64_t item, const Visit &, int64_t chainIndex) {
    noteOrder(lastItem[chainIndex], item);
    ++numTasks;
    ChainTime &chain = chains[chainIndex];
    Worker &worker = workers[index];
    bool beginsItem = std::exchange(worker.item, item) != item;
    TaskTimes times(cost, pieces, worker.time, chain, index, schedule.tasksWait(), beginsItem);
    lost.add(worker.time, times, beginsItem);
    times.store(cost, worker.time, chain, index);
    makespan = std::max(makespan, times.reduceEnd);
    hasGivenUp = lost.get() > spare;
    return success(!hasGivenUp);
  }
  void leaveItem(int64_t index, int64_t item, int64_t kvTile) {
    noteOrder(lastPart[kvTile], item);
    if (pieces == 0)
      return;
    WorkerTime &worker = workers[index].time;
    ChainTime &chain = partChains[kvTile];
    PartTimes times(cost, pieces, worker, chain, index, schedule.partsWait());
    times.store(cost, pieces, worker, chain, index);
    makespan = std::max(makespan, times.end);
  }

  bool dynamicIssue = true, hasGivenUp = false;
  double makespan = 0;
  int64_t numTasks = 0; ///< reached so far

private:
  int64_t numItemsWithTasks() const {
    return llvm::count_if(schedule.items(), [&](const Item &item) {
      TileSet active = schedule.problem.activeWalked(item.sequence, item.tile, item.part);
      return cut.tiles(item.part, active).size() > 0;
    });
  }

  LogicalResult refuseHidden(const Item &item, const Visit &visit, const TileRange &active) {
    int64_t firstHead = schedule.firstHead(item);
    bool isInside = visit.head >= firstHead && visit.head < firstHead + numHeads &&
                    visit.tile >= active.begin && visit.tile < active.end;
    InFlightDiagnostic error = emitError();
    error << describe(schedule, item) << " visits " << schedule.problem.walkedTile() << " "
          << visit.tile << " of " << schedule.problem.walkedHead() << " " << visit.head;
    if (isInside)
      return error << ", which the mask hides";
    error << ", expected ";
    if (active.size() == 0)
      return error << "no task: "
                   << (cut.hasRuns()              ? "its kv tile has fewer q tiles than runs"
                       : schedule.problem.isCut() ? "its rows see no column of its piece"
                       : schedule.problem.ownsQ() ? "its rows see no column"
                                                  : "the mask hides all of its columns");
    return error << schedule.problem.walkedTile() << "s " << active.begin << " to "
                 << active.end - 1 << " of " << schedule.problem.walkedHead() << "s " << firstHead
                 << " to " << firstHead + numHeads - 1;
  }

  LogicalResult refuseMissing(const Item &item, const TileRange &active) {
    for (int64_t head : llvm::seq(numHeads))
      for (int64_t q : llvm::seq(active.begin, active.end))
        if (seenTiles.contains(item.tile, q) &&
            seen[head * active.size() + q - active.begin] != stamp)
          return emitError() << describe(schedule, item) << " leaves out "
                             << schedule.problem.walkedTile() << " " << q << " of "
                             << schedule.problem.walkedHead() << " "
                             << schedule.firstHead(item) + head;
    llvm_unreachable("as many distinct active tasks as there are are all of them");
  }

  void enterSequence(int64_t index) {
    if (index == sequence)
      return;
    const Problem &problem = schedule.problem;
    bool isSame = sequence >= 0 && problem.sequences[index] == problem.sequences[sequence];
    sequence = index;
    if (isSame)
      return;
    chainLengths.resize(problem.numWalkedTiles(index));
    for (auto [q, length] : llvm::enumerate(chainLengths))
      length = hasTurns ? problem.activeOwn(index, q).size() : 1;
    seen.resize(std::max<size_t>(seen.size(), numHeads * chainLengths.size()));
    seenTiles.enterSequence(index);
  }
  void noteOrder(int32_t &last, int64_t item) {
    dynamicIssue &= last < item || !hasTurns;
    last = item;
  }

  struct Worker {
    int64_t item = -1; ///< of its last task
    WorkerTime time;
  };

  const Schedule &schedule;
  Cost cost; ///< that its tasks pay
  EmitError emitError;
  bool hasTurns;
  PartCut cut;
  int64_t numHeads; ///< of an item
  SeenTiles seenTiles;
  std::vector<Worker> workers;
  std::vector<ChainTime> chains;
  std::vector<int32_t> lastItem, lastPart;
  int64_t pieces; ///< of an item's sums
  std::vector<ChainTime> partChains;
  LostTime lost;
  double spare;
  int64_t sequence = -1;
  // index: walked tile of `sequence`; without chains, the only turn is 0
  std::vector<int32_t> chainLengths;
  std::vector<int32_t> seen; // index: task of an item; the last stamp that saw it
  int32_t stamp = 0;         // there are fewer items than numbers
};

} // namespace

/// The replay stopped early. Items it has not reached may be wrong too, and would mislead the
/// explanation of chains and cycles. So every item is checked first.
static LogicalResult explainStop(const Schedule &schedule, const ReplayState &replay, Proof &proof,
                                 EmitError emitError) {
  VisitReader reader(schedule);
  SmallVector<Visit, 0> storage;
  for (int64_t item : llvm::seq<int64_t>(schedule.items().size())) {
    FailureOr<ArrayRef<Visit>> visits = reader.read(item, storage);
    if (failed(visits))
      return emitError() << "formula 'visit' or 'turn' divides by a number below 1";
    if (failed(proof.enterItem(item, *visits)))
      return failure();
  }
  if (failed(explainBrokenChain(schedule, emitError)))
    return failure();
  return explainCycle(schedule, replay, emitError);
}

FailureOr<ScheduleFacts> dash::verify(const Schedule &schedule, EmitError emitError) {
  return verifyWithin(schedule, std::numeric_limits<double>::infinity(), emitError);
}

/// The time of the longest list if nothing in it waits.
static double longestList(const Schedule &schedule) {
  const Problem &problem = schedule.problem;
  // tasks, and items that have tasks
  std::vector<std::pair<int64_t, int64_t>> lists(schedule.workers);
  std::vector<int64_t> walkedTiles; // of the sequence's own tiles
  PartCut cut = schedule.cut();
  int64_t sequence = -1;
  for (const Item &item : schedule.items()) {
    if (item.sequence != std::exchange(sequence, item.sequence)) {
      walkedTiles.clear();
      for (int64_t tile : llvm::seq(problem.numOwnTiles(sequence)))
        walkedTiles.push_back(problem.activeWalked(sequence, tile).size());
    }
    int64_t tiles = problem.isCut() ? problem.activeWalked(sequence, item.tile, item.part).size()
                                    : walkedTiles[item.tile];
    int64_t tasks = cut.numTasks(item.part, tiles);
    lists[item.worker].first += tasks;
    lists[item.worker].second += tasks > 0;
  }
  Cost cost = schedule.paidCost();
  int64_t pieces = numPieces(problem, schedule.parts, cost);
  double longest = 0;
  for (auto [tasks, items] : lists)
    longest = std::max(longest, timeWithoutWaiting(cost, pieces, tasks, items));
  return longest;
}

FailureOr<ScheduleFacts> dash::verifyWithin(const Schedule &schedule, double limit,
                                            EmitError emitError) {
  using Outcome = Replay<Proof>::Outcome;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (failed(verifyItems(schedule, emitError)))
    return failure();
  if (limit < infinity && longestList(schedule) > limit)
    return ScheduleFacts{0, false, infinity};
  Proof proof(schedule, limit, emitError);
  llvm::scope_exit count([&] { countWork(proof.numTasks); });
  Replay<Proof> replay(schedule, proof);
  int64_t mostUnfinished = 0;
  for (int64_t worker : llvm::seq(schedule.workers)) {
    switch (replay.start(worker)) {
    case Outcome::Ran:
      break;
    case Outcome::Refused:
      if (proof.hasGivenUp)
        return ScheduleFacts{0, false, infinity};
      return failure();
    case Outcome::Unreadable:
    case Outcome::TurnTaken:
      return explainStop(schedule, replay, proof, emitError);
    }
    mostUnfinished = std::max(mostUnfinished, replay.numUnfinished());
  }
  if (replay.numUnfinished() > 0)
    return explainStop(schedule, replay, proof, emitError);
  if (failed(verifyIndependence(schedule, emitError)))
    return failure();
  return ScheduleFacts{1 + mostUnfinished, proof.dynamicIssue, proof.makespan,
                       strongestLevel(schedule)};
}
