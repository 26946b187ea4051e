//===- Timeline.cpp - all tasks of a predicted run ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Timeline.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;
using Cause = TimedTask::Cause;

Timeline::Timeline(const Schedule &schedule)
    : byWorker(schedule.workers), buffers(schedule.cost.buffers),
      pieces(numPieces(schedule.problem, schedule.parts, schedule.cost)) {
  tasks.reserve(schedule.problem.numTasks());
  std::vector<int32_t> lastOfChain;
  predict(schedule, [&](const TimedTask &task) {
    if (task.chain >= int64_t(lastOfChain.size()))
      lastOfChain.resize(task.chain + 1, -1);
    predecessors.push_back(lastOfChain[task.chain]);
    lastOfChain[task.chain] = tasks.size();
    byWorker[task.worker].push_back(tasks.size());
    if (last < 0 || task.reduceEnd > tasks[last].reduceEnd)
      last = tasks.size();
    tasks.push_back(task);
  });
}

int64_t Timeline::bufferPredecessor(int64_t task) const {
  ArrayRef<int32_t> mine = byWorker[tasks[task].worker];
  int64_t uses = 0;
  for (int32_t other : llvm::reverse(mine.take_front(tasks[task].step)))
    if ((uses += tasks[other].isPart ? pieces : 1) >= buffers)
      return other;
  return -1;
}

std::vector<Timeline::Stretch> Timeline::criticalPath() const {
  std::vector<Stretch> path;
  if (last < 0)
    return path;
  Stretch at{last, /*isCompute=*/false};
  while (true) {
    path.push_back(at);
    const TimedTask &task = tasks[at.task];
    switch (at.isCompute ? task.computeCause : task.reduceCause) {
    case Cause::Itself:
      at.isCompute = true;
      break;
    case Cause::PreviousCompute:
      if (task.step == 0)
        return path;
      at.task = byWorker[task.worker][task.step - 1];
      break;
    case Cause::FreeBuffer:
      at = {bufferPredecessor(at.task), false};
      break;
    case Cause::PreviousReduce:
      at.task = byWorker[task.worker][task.step - 1];
      break;
    case Cause::Chain:
      at.task = chainPredecessor(at.task);
      break;
    }
  }
}
