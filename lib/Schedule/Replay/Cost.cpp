//===- Cost.cpp - predict a schedule's time -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times depend only on predecessors, so any replay order can compute them.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/Cost.h"
#include "Clock.h"
#include "Replay.h"
#include "dash/Schedule/LayoutSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <deque>
#include <limits>
#include <utility>

using namespace mlir;
using namespace mlir::dash;

namespace {

class Clock {
public:
  Clock(const Schedule &schedule, llvm::function_ref<void(const TimedTask &)> tell)
      : schedule(schedule), cost(schedule.paidCost()), tell(tell),
        pieces(numPieces(schedule.problem, schedule.parts, cost)), workers(schedule.workers),
        chains(ChainIds(schedule.problem).size()),
        partChains(pieces > 0 ? OwnTileIds(schedule.problem).size() : 0) {}

  LogicalResult enterItem(int64_t, ArrayRef<Visit>) { return success(); }
  void leaveItem(int64_t index, int64_t item, int64_t kvTile) {
    if (pieces == 0)
      return;
    Worker &worker = workers[index];
    ChainTime &chain = partChains[kvTile];
    PartTimes times(cost, pieces, worker.time, chain, index, schedule.partsWait());
    TimedTask task;
    task.isPart = true;
    task.worker = index;
    task.item = item;
    task.chain = chains.size() + kvTile;
    task.step = worker.step++;
    task.visit = {/*head=*/-1, /*tile=*/-1, schedule.items()[item].partTurn};
    task.computeStart = task.computeEnd = worker.time.computeEnd;
    task.reduceStart = times.start;
    task.reduceEnd = times.end;
    task.computeCause = TimedTask::Cause::PreviousCompute;
    task.reduceCause = times.start == worker.time.reduceEnd ? TimedTask::Cause::PreviousReduce
                                                            : TimedTask::Cause::Chain;
    times.store(cost, pieces, worker.time, chain, index);
    tell(task);
  }

  LogicalResult task(int64_t index, int64_t item, const Visit &visit, int64_t chainIndex) {
    Worker &worker = workers[index];
    ChainTime &chain = chains[chainIndex];
    bool beginsItem = std::exchange(worker.item, item) != item;
    TaskTimes times(cost, pieces, worker.time, chain, index, schedule.tasksWait(), beginsItem);
    TimedTask task;
    task.worker = index;
    task.item = item;
    task.chain = chainIndex;
    task.step = worker.step++;
    task.visit = visit;
    task.computeStart = times.computeStart;
    task.computeEnd = times.computeEnd;
    task.reduceStart = times.reduceStart;
    task.reduceEnd = times.reduceEnd;
    task.computeCause = times.computeStart > worker.time.computeEnd
                            ? TimedTask::Cause::FreeBuffer
                            : TimedTask::Cause::PreviousCompute;
    task.reduceCause = task.reduceStart == task.computeEnd  ? TimedTask::Cause::Itself
                       : task.reduceStart == times.previous ? TimedTask::Cause::PreviousReduce
                                                            : TimedTask::Cause::Chain;
    times.store(cost, worker.time, chain, index);
    tell(task);
    return success();
  }

private:
  struct Worker {
    int64_t step = 0, item = -1;
    WorkerTime time;
  };

  const Schedule &schedule;
  Cost cost; ///< that its tasks pay
  llvm::function_ref<void(const TimedTask &)> tell;
  int64_t pieces;
  std::vector<Worker> workers;
  std::vector<ChainTime> chains, partChains;
};

} // namespace

void dash::predict(const Schedule &schedule, llvm::function_ref<void(const TimedTask &)> tell) {
  Clock clock(schedule, tell);
  Replay<Clock> replay(schedule, clock);
  for (int64_t worker : llvm::seq(schedule.workers)) {
    auto outcome = replay.start(worker);
    assert(outcome == Replay<Clock>::Outcome::Ran && "a verified schedule can be replayed");
    (void)outcome;
  }
  assert(replay.numUnfinished() == 0 && "a verified schedule has no cycle");
}

double dash::predictMakespan(const Schedule &schedule) {
  double makespan = 0;
  predict(schedule, [&](const TimedTask &task) { makespan = std::max(makespan, task.reduceEnd); });
  return makespan;
}

namespace {

/// The interval in which each (sequence, head) pair's dQ receives adds.
class DqInFlight {
public:
  explicit DqInFlight(const Schedule &schedule)
      : schedule(schedule),
        pairs(schedule.problem.numSequences() * schedule.problem.heads, {infinity, 0}) {}

  void add(const TimedTask &task) {
    if (task.isPart || !schedule.problem.hasChains())
      return;
    int64_t sequence = schedule.items()[task.item].sequence;
    Span &span = pairs[sequence * schedule.problem.heads + task.visit.head];
    span.begin = std::min(span.begin, task.reduceStart);
    span.end = std::max(span.end, task.reduceEnd);
  }

  int64_t peak() const {
    const Problem &problem = schedule.problem;
    std::vector<std::pair<double, int64_t>> starts, ends; // (time, sequence)
    for (auto [index, span] : llvm::enumerate(pairs)) {
      if (span.begin == infinity)
        continue; // no row of it sees a column
      starts.push_back({span.begin, index / problem.heads});
      ends.push_back({span.end, index / problem.heads});
    }
    llvm::sort(starts);
    llvm::sort(ends);
    // All rows have equally many bytes, so rows are counted: bytes might overflow.
    int64_t rows = 0, mostRows = 0;
    for (size_t begun = 0, ended = 0; begun < starts.size(); ++begun) {
      for (; ends[ended].first <= starts[begun].first; ++ended)
        rows -= problem.sequences[ends[ended].second].q;
      rows += problem.sequences[starts[begun].second].q;
      mostRows = std::max(mostRows, rows);
    }
    uint64_t rowBytes = llvm::SaturatingMultiply<uint64_t>(problem.headDim, sizeof(float));
    return std::min<uint64_t>(llvm::SaturatingMultiply<uint64_t>(mostRows, rowBytes),
                              std::numeric_limits<int64_t>::max());
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  struct Span {
    double begin, end;
  };
  const Schedule &schedule;
  std::vector<Span> pairs;
};

/// Adds up the time in which workers do not compute. Reductions that end before the last compute
/// ends are in no later gap. Those after it are at most as many as there are buffers, plus the
/// parts of later items, which may have no task.
class Waits {
public:
  explicit Waits(const Schedule &schedule) : workers(schedule.workers) {}

  void add(const TimedTask &task) {
    Worker &worker = workers[task.worker];
    if (task.computeStart > worker.computeEnd) {
      double reducing = 0;
      for (auto [begin, end] : worker.reductions)
        reducing +=
            std::max(0.0, std::min(end, task.computeStart) - std::max(begin, worker.computeEnd));
      forTurn += task.computeStart - worker.computeEnd - reducing;
      forBuffer += reducing;
    }
    worker.computeEnd = task.computeEnd;
    while (!worker.reductions.empty() && worker.reductions.front().second <= worker.computeEnd)
      worker.reductions.pop_front();
    worker.reductions.push_back({task.reduceStart, task.reduceEnd});
  }

  /// Precondition: all tasks have been added.
  void finish(RunFigures &figures) const {
    double turns = forTurn, idle = 0;
    for (const Worker &worker : workers) {
      double end = worker.computeEnd;
      for (auto [reduceStart, reduceEnd] : worker.reductions) {
        turns += std::max(0.0, reduceStart - end);
        end = std::max(end, reduceEnd);
      }
      idle += figures.makespan - end;
    }
    double all = figures.makespan * workers.size();
    if (all <= 0)
      return;
    figures.waitForTurn = turns / all;
    figures.waitForBuffer = forBuffer / all;
    figures.idle = idle / all;
  }

private:
  struct Worker {
    double computeEnd = 0;
    std::deque<std::pair<double, double>> reductions; ///< that end after the last compute
  };
  std::vector<Worker> workers;
  double forTurn = 0, forBuffer = 0;
};

} // namespace

int64_t dash::peakDqBytes(const Schedule &schedule) {
  DqInFlight inFlight(schedule);
  predict(schedule, [&](const TimedTask &task) { inFlight.add(task); });
  return inFlight.peak();
}

RunFigures dash::predictFigures(const Schedule &schedule) {
  RunFigures figures;
  DqInFlight inFlight(schedule);
  Waits waits(schedule);
  predict(schedule, [&](const TimedTask &task) {
    figures.makespan = std::max(figures.makespan, task.reduceEnd);
    inFlight.add(task);
    waits.add(task);
  });
  waits.finish(figures);
  figures.peakDqBytes = inFlight.peak();
  return figures;
}

double dash::lowerBound(const Schedule &schedule) {
  const Problem &problem = schedule.problem;
  Cost cost = schedule.paidCost();
  double bound =
      leastMakespan({problem, schedule.parts, schedule.workers, schedule.maxDqBytes, cost});
  if (!schedule.tasksWait())
    return bound;
  int64_t longestChain = 0;
  for (int64_t s : llvm::seq(problem.numSequences())) {
    if (s > 0 && problem.sequences[s] == problem.sequences[s - 1])
      continue;
    for (int64_t tile : llvm::seq(problem.numWalkedTiles(s)))
      longestChain = std::max(longestChain, problem.activeOwn(s, tile).size());
  }
  if (longestChain > 0)
    bound = std::max(bound, cost.boundary + cost.compute + longestChain * cost.reduce);
  return bound;
}
