//===- Replay.h - run a schedule's lists in dependency order ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs every task once, in some order that respects the lists and the chains. Time and memory are
// linear: a task is touched once, and only what the workers hold at the moment is in memory, so a
// million tokens need no table of their 10^8 tasks.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LIB_SCHEDULE_REPLAY_H
#define DASH_LIB_SCHEDULE_REPLAY_H

#include "dash/Schedule/Schedule.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dash {

/// Numbers the dQ tiles of a problem.
class ChainIds {
public:
  explicit ChainIds(const Problem &problem);
  int64_t operator()(int64_t sequence, int64_t head, int64_t q) const {
    return base[sequence] + head * qTiles[sequence] + q;
  }
  int64_t size() const { return base.back(); }

private:
  std::vector<int64_t> base, qTiles;
};

/// Numbers the dK and dV tiles of a problem.
class KvTileIds {
public:
  explicit KvTileIds(const Problem &problem);
  int64_t operator()(const Item &item) const {
    return base[item.sequence] + item.kvHead * kvTiles[item.sequence] + item.kv;
  }
  int64_t size() const { return base.back(); }

private:
  std::vector<int64_t> base, kvTiles;
};

class Replay {
public:
  /// What a replay tells as it goes.
  struct Visitor {
    virtual ~Visitor() = default;
    /// A worker is about to start an item; its tasks have not been looked at before. Returning
    /// failure ends the replay.
    virtual LogicalResult enterItem(int64_t item, ArrayRef<Visit> visits) { return success(); }
    /// A task whose predecessors, in its list and in its chain, have been told.
    virtual void task(int64_t worker, int64_t item, const Visit &visit, int64_t chain) {}
    /// All tasks of an item, and its predecessors in its part chain, have been told.
    virtual void leaveItem(int64_t item, int64_t kvTile) {}
  };

  Replay(const Schedule &schedule, Visitor &visitor);

  enum class Outcome { Ran, Refused, Unreadable, TurnTaken };
  /// Lets one more worker run, and every started worker that waits for it, as far as they get.
  /// `Refused`: the visitor failed. `TurnTaken`: somebody already had a turn that a task asks for.
  Outcome start(int64_t worker);

  int64_t numUnfinished() const { return numStarted - numFinished; }
  bool isUnfinished(int64_t worker) const {
    return workers[worker].listPosition < int64_t(list(worker).size());
  }
  ArrayRef<int32_t> list(int64_t worker) const {
    return ArrayRef(listItems).slice(listBegin[worker], listBegin[worker + 1] - listBegin[worker]);
  }

  /// Where a worker that could not finish stands: the item, and its next task, or none if all its
  /// tasks are done and it waits in the part chain.
  struct Position {
    int64_t item;
    std::optional<Visit> visit;
  };
  Position position(int64_t worker) const;
  int64_t nextTurn(int64_t chain) const { return next[chain]; }
  int64_t nextPartTurn(const Item &item) const { return next[chains.size() + kvTiles(item)]; }
  const ChainIds &chainIds() const { return chains; }

private:
  struct Worker {
    SmallVector<Visit, 0> visits; ///< of the item at hand
    int64_t listPosition = 0, visitPosition = 0;
    bool inItem = false;
  };

  Outcome advance(int32_t worker);
  /// Takes a turn, or puts the worker to sleep until it has come.
  bool tryTurn(int64_t chain, int32_t turn, int32_t worker, Outcome &outcome);
  void passTurn(int64_t chain);

  const Schedule &schedule;
  Visitor &visitor;
  bool isOrdered; ///< or every turn has come
  VisitReader reader;
  ChainIds chains;
  KvTileIds kvTiles;
  std::vector<int64_t> listBegin;
  std::vector<int32_t> listItems;
  std::vector<Worker> workers;
  // Chains of dQ tiles, then chains of dK and dV tiles over the parts.
  std::vector<int32_t> next, numAsleep;
  llvm::DenseMap<std::pair<int64_t, int32_t>, int32_t> asleep; // looked up only
  SmallVector<int32_t> ready;
  int64_t numStarted = 0, numFinished = 0;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPLAY_H
