//===- Replay.h - run a schedule's lists in dependency order ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs every task once, in some order that respects the lists and the chains. Time and memory are
// linear. A task is touched once, and memory holds only what workers have at the moment. So a
// million tokens need no table of their 10^8 tasks.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LIB_SCHEDULE_REPLAY_REPLAY_H
#define DASH_LIB_SCHEDULE_REPLAY_REPLAY_H

#include "Sleepers.h"
#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// Numbers the tiles that a problem's items walk: where there are chains, the dQ tiles.
class ChainIds {
public:
  explicit ChainIds(const Problem &problem);
  int64_t operator()(int64_t sequence, int64_t head, int64_t tile) const {
    return of(sequence)(head, tile);
  }
  /// The tiles of one sequence.
  struct OfSequence {
    int64_t base, tiles;
    int64_t operator()(int64_t head, int64_t tile) const { return base + head * tiles + tile; }
  };
  OfSequence of(int64_t sequence) const { return {base[sequence], tiles[sequence]}; }
  int64_t size() const { return base.back(); }

private:
  std::vector<int64_t> base, tiles;
};

/// Numbers the tiles that a problem's items own: where there are chains, the dK and dV tiles.
class OwnTileIds {
public:
  explicit OwnTileIds(const Problem &problem);
  int64_t operator()(const Item &item) const {
    return base[item.sequence] + item.head * tiles[item.sequence] + item.tile;
  }
  int64_t size() const { return base.back(); }

private:
  std::vector<int64_t> base, tiles;
};

/// The progress of a replay.
class ReplayState {
public:
  explicit ReplayState(const Schedule &schedule);

  int64_t numUnfinished() const { return numStarted - numFinished; }
  bool isUnfinished(int64_t worker) const {
    return workers[worker].listPosition < int64_t(list(worker).size());
  }
  ArrayRef<int32_t> list(int64_t worker) const {
    return ArrayRef(listItems).slice(listBegin[worker], listBegin[worker + 1] - listBegin[worker]);
  }

  /// The position of a worker that could not finish: the item, and its next task; no task if all
  /// are done and it waits in the part chain.
  struct Position {
    int64_t item;
    std::optional<Visit> visit;
  };
  Position position(int64_t worker) const;
  int64_t nextTurn(int64_t chain) const { return turns[chain].next; }
  int64_t nextPartTurn(const Item &item) const {
    return turns[chains.size() + ownTiles(item)].next;
  }
  const ChainIds &chainIds() const { return chains; }

protected:
  struct Worker {
    SmallVector<Visit, 0> storage; ///< for `visits`, if a formula gives them
    ArrayRef<Visit> visits;        ///< of the current item
    int64_t listPosition = 0, visitPosition = 0;
    bool inItem = false;
  };
  struct Turns {
    int32_t next = 0, numAsleep = 0;
  };

  const Schedule &schedule;
  VisitReader reader;
  ChainIds chains;
  OwnTileIds ownTiles;
  std::vector<int64_t> listBegin;
  std::vector<int32_t> listItems;
  std::vector<Worker> workers;
  std::vector<Turns>
      turns; ///< of the chains of dQ tiles, then of those of dK and dV tiles over the parts
  Sleepers asleep;
  SmallVector<int32_t> ready;
  int64_t numStarted = 0, numFinished = 0;
};

/// Reports events to a visitor as they happen:
///  - LogicalResult enterItem(int64_t item, ArrayRef<Visit> visits): a worker is about to start an
///    item; none of its tasks has been visited. Failure ends the replay;
///  - LogicalResult task(int64_t worker, int64_t item, const Visit &visit, int64_t chain): a task
///    whose predecessors in its list and in its chain have been reported. Failure ends the replay;
///  - void leaveItem(int64_t worker, int64_t item, int64_t kvTile): all tasks of an item, and its
///    predecessors in its part chain, have been reported. Only with several parts.
template <typename Visitor> class Replay : public ReplayState {
public:
  Replay(const Schedule &schedule, Visitor &visitor)
      : ReplayState(schedule), visitor(visitor), hasTurns(schedule.hasTurns()) {}

  enum class Outcome { Ran, Refused, Unreadable, TurnTaken };
  /// Starts one more worker, and runs it and every started worker that waits for it as far as they
  /// get. `Refused`: the visitor failed. `TurnTaken`: another task already has a turn that a task
  /// asks for.
  Outcome start(int64_t worker) {
    ++numStarted;
    ready.push_back(worker);
    while (!ready.empty())
      if (Outcome outcome = advance(ready.pop_back_val()); outcome != Outcome::Ran)
        return outcome;
    return Outcome::Ran;
  }

private:
  Outcome advance(int32_t index) {
    Worker &worker = workers[index];
    ArrayRef<int32_t> items = list(index);
    Outcome outcome = Outcome::Ran;
    for (; worker.listPosition < int64_t(items.size()); ++worker.listPosition) {
      int64_t itemIndex = items[worker.listPosition];
      const Item &item = schedule.items()[itemIndex];
      if (!worker.inItem) {
        FailureOr<ArrayRef<Visit>> visits = reader.read(itemIndex, worker.storage);
        if (failed(visits))
          return Outcome::Unreadable;
        worker.visits = *visits;
        if (failed(visitor.enterItem(itemIndex, worker.visits)))
          return Outcome::Refused;
        worker.inItem = true;
        worker.visitPosition = 0;
      }
      // Most time of a proof is spent in this loop.
      ChainIds::OfSequence chainOf = chains.of(item.sequence);
      const Visit *visits = worker.visits.data();
      int64_t position = worker.visitPosition, numVisits = worker.visits.size();
      for (; position < numVisits; ++position) {
        const Visit &visit = visits[position];
        int64_t chain = chainOf(visit.head, visit.tile);
        Turns &at = turns[chain];
        if (!tryTurn(at, chain, visit.turn, index, outcome)) {
          worker.visitPosition = position;
          return outcome;
        }
        if (failed(visitor.task(index, itemIndex, visit, chain)))
          return Outcome::Refused;
        passTurn(at, chain);
      }
      worker.visitPosition = position;
      if (schedule.parts > 1) {
        int64_t chain = chains.size() + ownTiles(item);
        Turns &at = turns[chain];
        if (!tryTurn(at, chain, item.partTurn, index, outcome))
          return outcome;
        visitor.leaveItem(index, itemIndex, chain - chains.size());
        passTurn(at, chain);
      }
      worker.inItem = false;
    }
    worker.visits = {};
    worker.storage.clear();
    ++numFinished;
    return outcome;
  }

  /// Takes a turn, or puts the worker to sleep until it comes.
  bool tryTurn(Turns &at, int64_t chain, int32_t turn, int32_t worker, Outcome &outcome) {
    if (!hasTurns || at.next == turn)
      return true;
    bool isTaken = at.next > turn || !asleep.insert(chain, turn, worker);
    ++at.numAsleep;
    outcome = isTaken ? Outcome::TurnTaken : Outcome::Ran;
    return false;
  }

  void passTurn(Turns &at, int64_t chain) {
    ++at.next;
    if (at.numAsleep == 0)
      return;
    int32_t worker = asleep.take(chain, at.next);
    if (worker < 0)
      return;
    ready.push_back(worker);
    --at.numAsleep;
  }

  Visitor &visitor;
  bool hasTurns; ///< without order, every turn has always come
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPLAY_REPLAY_H
