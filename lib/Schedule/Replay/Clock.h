//===- Clock.h - the times of the cost model -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_REPLAY_CLOCK_H
#define DASH_LIB_SCHEDULE_REPLAY_CLOCK_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// End times of a worker's last reductions, as far back as it has buffers.
class ReduceEnds {
public:
  /// The time when the buffer of the next task is free: the end of the reduction `buffers` tasks
  /// ago.
  double bufferFree() const { return oldest; }
  void add(double end, int64_t buffers) {
    if (buffers > 2)
      return addToRing(end, buffers);
    oldest = buffers == 1 ? end : newest;
    newest = end;
  }

private:
  void addToRing(double end, int64_t buffers) {
    if (int64_t(ring.size()) < buffers) {
      ring.push_back(end);
    } else {
      ring[next] = end;
      next = next + 1 == buffers ? 0 : next + 1;
    }
    oldest = int64_t(ring.size()) < buffers ? 0 : ring[next];
  }

  double oldest = 0, newest = 0;
  std::vector<double> ring; ///< for more than two buffers
  int64_t next = 0;
};

/// The progress of a worker and of a chain.
struct WorkerTime {
  double computeEnd = 0, reduceEnd = 0;
  ReduceEnds buffers;
};
struct ChainTime {
  double reduceEnd = 0;
  int32_t worker = -1;
  int32_t turns = 0; ///< turns taken so far

  /// The time when the next contribution can be added if worker `index` makes it.
  double freeFor(int32_t index, const Cost &cost) const {
    return reduceEnd + (worker == index || worker < 0 ? 0 : cost.latency);
  }
};

/// One step of the recurrence of dash/Schedule/Cost.h, from what it waits for to what it changes.
/// With `pieces`, the boundary of an item needs no buffer.
struct TaskTimes {
  TaskTimes(const Cost &cost, int64_t pieces, const WorkerTime &worker, const ChainTime &chain,
            int32_t index, bool isOrdered, bool beginsItem)
      : previous(worker.reduceEnd), computeStart(startOf(cost, pieces, worker, beginsItem)),
        computeEnd(computeStart + cost.compute + (beginsItem ? cost.boundary : 0)) {
    double turn = isOrdered ? chain.freeFor(index, cost) : 0;
    reduceStart = std::max(std::max(computeEnd, previous), turn);
    reduceEnd = reduceStart + cost.reduce;
  }
  void store(const Cost &cost, WorkerTime &worker, ChainTime &chain, int32_t index) const {
    worker.computeEnd = computeEnd;
    worker.reduceEnd = reduceEnd;
    worker.buffers.add(reduceEnd, cost.buffers);
    chain.reduceEnd = reduceEnd;
    chain.worker = index;
    ++chain.turns;
  }
  static double startOf(const Cost &cost, int64_t pieces, const WorkerTime &worker,
                        bool beginsItem) {
    double before = pieces > 0 && beginsItem ? cost.boundary : 0;
    return std::max(worker.computeEnd, worker.buffers.bufferFree() - before);
  }

  double previous; ///< what the reduction waited for besides its compute and the chain
  double computeStart, computeEnd, reduceStart, reduceEnd;
};

/// The adds of a part's sums after the item's last task, piece after piece without a gap. The part
/// before began earlier by the same amount, and no piece takes longer than another. So a part's
/// turn has come when the first piece is there.
struct PartTimes {
  PartTimes(const Cost &cost, int64_t pieces, const WorkerTime &worker, const ChainTime &chain,
            int32_t index, bool isOrdered)
      : start(std::max(worker.reduceEnd, isOrdered ? chain.freeFor(index, cost) : 0)),
        end(start + pieces * cost.piece) {}
  void store(const Cost &cost, int64_t pieces, WorkerTime &worker, ChainTime &chain,
             int32_t index) const {
    for (int64_t piece = std::max<int64_t>(pieces - cost.buffers, 0); piece < pieces;)
      worker.buffers.add(start + ++piece * cost.piece, cost.buffers);
    worker.reduceEnd = end;
    chain.reduceEnd = start + cost.piece;
    chain.worker = index;
    ++chain.turns;
  }

  double start, end;
};

/// The time of an item besides its tasks if nothing waits for it, at the pace of computes: K and V
/// of the next item arrive while its pieces leave. With one buffer, at the pace of both.
inline double timeBetweenItems(const Cost &cost, int64_t pieces) {
  if (pieces < cost.buffers)
    return cost.boundary;
  if (cost.buffers == 1)
    return std::max(cost.boundary - cost.reduce, pieces * cost.piece);
  return std::max(cost.boundary, cost.reduce + (pieces + 1 - cost.buffers) * cost.piece);
}

/// The time of a worker that never waits for another, for `tasks` tasks in `items` items.
inline double timeWithoutWaiting(const Cost &cost, int64_t pieces, int64_t tasks, int64_t items) {
  double between = items * timeBetweenItems(cost, pieces);
  if (cost.buffers == 1)
    return tasks * (cost.compute + cost.reduce) + between;
  return std::max(tasks * cost.compute + between,
                  tasks * cost.reduce + items * (pieces * cost.piece));
}

/// How much worker time is irrecoverably lost. A run of `numTasks` tasks in `numItems` items cannot
/// end before M once it has lost more than M leaves over. The time of pieces counts as left over.
class LostTime {
public:
  LostTime(const Cost &cost, int64_t pieces)
      : paceIsCompute(cost.buffers > 1 && cost.compute >= cost.reduce),
        taskTime(cost.buffers == 1 ? cost.compute + cost.reduce
                                   : std::max(cost.compute, cost.reduce)),
        itemTime(paceIsCompute || (cost.buffers == 1 && pieces == 0) ? cost.boundary : 0) {}
  /// The time that `workers` workers that end before `limit` may lose. Items without tasks do not
  /// count.
  double spare(double limit, int64_t workers, int64_t numTasks, int64_t numItems) const {
    return limit * workers - taskTime * numTasks - itemTime * numItems;
  }
  void add(const WorkerTime &before, const TaskTimes &task, bool beginsItem) {
    lost +=
        (paceIsCompute ? task.computeEnd - before.computeEnd : task.reduceEnd - before.reduceEnd) -
        taskTime - (beginsItem ? itemTime : 0);
  }
  double get() const { return lost; }

private:
  bool paceIsCompute;
  double taskTime; ///< from one task to the next of a worker that never waits
  double itemTime; ///< extra time from one item to the next
  double lost = 0;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPLAY_CLOCK_H
