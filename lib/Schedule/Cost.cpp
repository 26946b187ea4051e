//===- Cost.cpp - predict a schedule's time -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times depend on predecessors only, so they can be computed in the order of any replay.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/Cost.h"
#include "Replay.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <deque>

using namespace mlir;
using namespace mlir::dash;

namespace {

class Clock : public Replay::Visitor {
public:
  Clock(const Schedule &schedule, llvm::function_ref<void(const TimedTask &)> tell)
      : cost(schedule.cost), tell(tell), workers(schedule.workers),
        chains(ChainIds(schedule.problem).size()) {}

  void task(int64_t index, int64_t item, const Visit &visit, int64_t chainIndex) override {
    Worker &worker = workers[index];
    Chain &chain = chains[chainIndex];
    TimedTask task;
    task.worker = index;
    task.item = item;
    task.chain = chainIndex;
    task.step = worker.step;
    task.visit = visit;

    // Results of the last b reductions, oldest first: the oldest frees the buffer.
    double bufferFree = worker.step < cost.buffers ? 0 : worker.reduceEnds.front();
    task.computeStart = std::max(worker.computeEnd, bufferFree);
    task.computeCause = bufferFree > worker.computeEnd ? TimedTask::Cause::FreeBuffer
                                                       : TimedTask::Cause::PreviousCompute;
    task.computeEnd = task.computeStart + cost.compute;

    double previous = worker.step == 0 ? 0 : worker.reduceEnds.back();
    double turn =
        chain.worker < 0 ? 0 : chain.reduceEnd + (chain.worker == index ? 0 : cost.latency);
    task.reduceStart = std::max({task.computeEnd, previous, turn});
    task.reduceCause = task.reduceStart == task.computeEnd ? TimedTask::Cause::Itself
                       : task.reduceStart == previous      ? TimedTask::Cause::PreviousReduce
                                                           : TimedTask::Cause::Chain;
    task.reduceEnd = task.reduceStart + cost.reduce;

    worker.computeEnd = task.computeEnd;
    if (worker.step >= cost.buffers)
      worker.reduceEnds.pop_front();
    worker.reduceEnds.push_back(task.reduceEnd);
    ++worker.step;
    chain = {task.reduceEnd, index};
    tell(task);
  }

private:
  struct Worker {
    int64_t step = 0;
    double computeEnd = 0;
    std::deque<double> reduceEnds; ///< of the last `buffers` tasks
  };
  struct Chain {
    double reduceEnd = 0;
    int64_t worker = -1;
  };

  const Cost &cost;
  llvm::function_ref<void(const TimedTask &)> tell;
  std::vector<Worker> workers;
  std::vector<Chain> chains;
};

} // namespace

void dash::predict(const Schedule &schedule, llvm::function_ref<void(const TimedTask &)> tell) {
  Clock clock(schedule, tell);
  Replay replay(schedule, clock);
  for (int64_t worker : llvm::seq(schedule.workers)) {
    Replay::Outcome outcome = replay.start(worker);
    assert(outcome == Replay::Outcome::Ran && "a verified schedule can be replayed");
    (void)outcome;
  }
  assert(replay.numUnfinished() == 0 && "a verified schedule has no cycle");
}

double dash::predictMakespan(const Schedule &schedule) {
  double makespan = 0;
  predict(schedule, [&](const TimedTask &task) { makespan = std::max(makespan, task.reduceEnd); });
  return makespan;
}

double dash::lowerBound(const Schedule &schedule) {
  const Cost &cost = schedule.cost;
  auto length = [&](int64_t tasks) {
    return cost.buffers == 1 ? tasks * (cost.compute + cost.reduce)
                             : std::max(tasks * cost.compute, tasks * cost.reduce);
  };
  double bound = length(schedule.problem.numTasks()) / schedule.workers;

  int64_t longestChain = 0;
  for (int64_t s : llvm::seq(schedule.problem.numSequences()))
    for (int64_t q : llvm::seq(schedule.problem.numQTiles(s)))
      longestChain = std::max(longestChain, schedule.problem.activeKv(s, q).size());
  if (longestChain > 0)
    bound = std::max(bound, cost.compute + longestChain * cost.reduce);

  std::vector<int64_t> tasks; // by item, most first
  for (const Item &item : schedule.items())
    tasks.push_back(schedule.numTasks(item));
  llvm::sort(tasks, std::greater<>());
  std::vector<int64_t> sum = {0}; // of the first items
  for (int64_t n : tasks)
    sum.push_back(sum.back() + n);
  // k = 0 is the longest item.
  for (int64_t k = 0; k * schedule.workers < int64_t(tasks.size()); ++k) {
    int64_t end = k * schedule.workers + 1;
    bound = std::max(bound, length(sum[end] - sum[end - k - 1]));
  }
  return bound;
}
