//===- Clock.h - the times of the cost model -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_CLOCK_H
#define DASH_LIB_SCHEDULE_CLOCK_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// When a worker's last reductions ended, as far back as it has buffers.
class ReduceEnds {
public:
  /// When the buffer of the next task is free: the end of the reduction `buffers` tasks ago.
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
  std::vector<double> ring; ///< of more than two
  int64_t next = 0;
};

/// How far a worker and a chain have come.
struct WorkerTime {
  double computeEnd = 0, reduceEnd = 0;
  ReduceEnds buffers;
};
struct ChainTime {
  double reduceEnd = 0;
  int32_t worker = -1;
  int32_t turns = 0; ///< that have been taken

  /// When the next contribution can be added, if it is made by worker `index`.
  double freeFor(int32_t index, const Cost &cost) const {
    return reduceEnd + (worker == index || worker < 0 ? 0 : cost.latency);
  }
};

/// One step of the recurrence of dash/Schedule/Cost.h, from what it waits for to what it changes.
struct TaskTimes {
  TaskTimes(const Cost &cost, const WorkerTime &worker, const ChainTime &chain, int32_t index,
            bool isOrdered, bool beginsItem)
      : bufferFree(worker.buffers.bufferFree()), previous(worker.reduceEnd),
        computeStart(std::max(worker.computeEnd, bufferFree)),
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

  double bufferFree, previous; ///< what was waited for beside the compute before and the chain
  double computeStart, computeEnd, reduceStart, reduceEnd;
};

/// What a worker that never waits for another takes for `tasks` tasks in `items` items.
inline double timeWithoutWaiting(const Cost &cost, int64_t tasks, int64_t items) {
  double boundaries = items * cost.boundary;
  return cost.buffers == 1 ? tasks * (cost.compute + cost.reduce) + boundaries
                           : std::max(tasks * cost.compute + boundaries, tasks * cost.reduce);
}

/// How much of the workers' time is lost for good: a run of `numTasks` tasks in `numItems` items cannot end
/// before M once more is lost than M leaves over.
class LostTime {
public:
  LostTime(const Cost &cost)
      : paceIsCompute(cost.buffers > 1 && cost.compute >= cost.reduce),
        taskTime(cost.buffers == 1 ? cost.compute + cost.reduce
                                   : std::max(cost.compute, cost.reduce)),
        itemTime(cost.buffers == 1 || paceIsCompute ? cost.boundary : 0) {}
  /// What may be lost by `workers` workers that end before `limit`. Items without tasks do not count.
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
  double itemTime; ///< added to it from one item to the next
  double lost = 0;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_CLOCK_H
