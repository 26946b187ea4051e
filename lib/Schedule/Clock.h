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
  double bufferFree() const { return full ? ends[oldest] : 0; }
  void add(double end, int64_t buffers) {
    if (!full) {
      ends.push_back(end);
      full = int64_t(ends.size()) == buffers;
      return;
    }
    ends[oldest] = end;
    oldest = oldest + 1 == buffers ? 0 : oldest + 1;
  }

private:
  SmallVector<double, 2> ends;
  int64_t oldest = 0;
  bool full = false;
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
            bool isOrdered)
      : bufferFree(worker.buffers.bufferFree()), previous(worker.reduceEnd),
        computeStart(std::max(worker.computeEnd, bufferFree)),
        computeEnd(computeStart + cost.compute) {
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

/// How much of the workers' time is lost for good: a run of `numTasks` tasks cannot end before M once
/// more is lost than M leaves over.
class LostTime {
public:
  LostTime(const Cost &cost)
      : paceIsCompute(cost.buffers > 1 && cost.compute >= cost.reduce),
        taskTime(cost.buffers == 1 ? cost.compute + cost.reduce
                                   : std::max(cost.compute, cost.reduce)) {}
  /// What may be lost by `workers` workers that end before `limit`.
  double spare(double limit, int64_t workers, int64_t numTasks) const {
    return limit * workers - taskTime * numTasks;
  }
  void add(const WorkerTime &before, const TaskTimes &task) {
    lost +=
        (paceIsCompute ? task.computeEnd - before.computeEnd : task.reduceEnd - before.reduceEnd) -
        taskTime;
  }
  double get() const { return lost; }

private:
  bool paceIsCompute;
  double taskTime; ///< from one task to the next of a worker that never waits
  double lost = 0;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_CLOCK_H
