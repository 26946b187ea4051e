//===- EstimateRun.cpp - estimate the time of a plan ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models the adds to a head's q tiles as one queue that serves as many at once as the head has q
// tiles.
//
//===----------------------------------------------------------------------===//

#include "EstimateRun.h"
#include "Replay/Clock.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <limits>
#include <queue>
#include <utility>

using namespace mlir;
using namespace mlir::dash;

/// Workers do not reach the q tiles of a head evenly, so the queue serves fewer than it could.
static constexpr double unevenness = 1.3;

namespace {

class RunEstimate {
public:
  RunEstimate(const Problem &problem, const Plan &plan, const Cost &cost, const Dispatch &dispatch)
      : problem(problem), plan(plan), dispatch(dispatch),
        pace(cost.buffers == 1 ? cost.compute + cost.reduce : std::max(cost.compute, cost.reduce)),
        hop(unevenness * (cost.reduce + cost.latency)),
        between(timeBetweenItems(cost, plan.pieces)),
        queues(problem.numSequences() * problem.heads), groups(plan.groupDqBytes.size()) {
    for (const PlannedItem &planned : plan.items)
      ++groups[planned.group].unissued;
  }

  double run() {
    for (int64_t worker : llvm::seq(dispatch.workers))
      workers.push({0, worker});
    if (dispatch.lanes > 1)
      runLists();
    else
      runInTurn();
    return end;
  }

private:
  using Heap = std::priority_queue<std::pair<double, int64_t>,
                                   std::vector<std::pair<double, int64_t>>, std::greater<>>;
  /// Adds in order of arrival: what has been requested since the first arrival does not end before
  /// it has run.
  struct Queue {
    double begin = std::numeric_limits<double>::infinity(), busy = 0;
  };
  struct Group {
    int64_t unissued = 0;
    bool isOpen = false;
    double end = 0;
  };

  /// Each worker runs the items of its group.
  void runLists() {
    std::vector<SmallVector<const PlannedItem *, 0>> lists(dispatch.workers);
    for (const PlannedItem &planned : llvm::reverse(plan.items))
      lists[planned.group].push_back(&planned);
    while (!workers.empty()) {
      auto [start, worker] = workers.top();
      workers.pop();
      if (lists[worker].empty())
        continue;
      workers.push({runItem(*lists[worker].pop_back_val(), start), worker});
    }
  }

  /// Each item runs on the worker that is free first.
  void runInTurn() {
    for (const PlannedItem &planned : plan.items) {
      auto [start, worker] = workers.top();
      workers.pop();
      issued = std::max(issued, start);
      Group &group = groups[planned.group];
      if (!std::exchange(group.isOpen, true))
        waitForRoom(plan.groupDqBytes[planned.group]);
      double itemEnd = runItem(planned, issued);
      workers.push({itemEnd, worker});
      group.end = std::max(group.end, itemEnd);
      if (--group.unissued == 0)
        closings.push({group.end, plan.groupDqBytes[planned.group]});
    }
  }

  void waitForRoom(int64_t bytes) {
    auto isFull = [&] {
      return dispatch.maxDqBytes > 0 && openBytes > 0 && openBytes + bytes > dispatch.maxDqBytes;
    };
    while (!closings.empty() && (closings.top().first <= issued || isFull())) {
      issued = std::max(issued, closings.top().first);
      openBytes -= closings.top().second;
      closings.pop();
    }
    openBytes += bytes;
  }

  double runItem(const PlannedItem &planned, double time) {
    int64_t tiles = planned.tiles.size();
    if (tiles == 0)
      return time;
    int64_t firstHead = planned.item.sequence * problem.heads + planned.firstHead;
    int64_t qTiles = problem.numQTiles(planned.item.sequence);
    // Items that each begin with one head spread over all heads.
    int64_t runs = plan.rotates ? 1 : plan.headsPerItem;
    int64_t tasks = tiles * plan.headsPerItem / runs;
    double service = tiles * hop / qTiles;
    for (int64_t head : llvm::seq(runs)) {
      if (plan.apart == Apart::All) {
        time += tasks * pace;
        continue;
      }
      Queue &queue = queues[firstHead + head];
      queue.begin = std::min(queue.begin, time);
      queue.busy += service;
      time = std::max(time + tasks * pace, queue.begin + queue.busy);
    }
    end = std::max(end, time);
    return time + between;
  }

  const Problem &problem;
  const Plan &plan;
  const Dispatch &dispatch;
  double pace;               ///< from one task of a worker to the next
  double hop;                ///< from one add to a q tile to the next
  double between;            ///< an item's time besides its tasks
  std::vector<Queue> queues; ///< for each head
  std::vector<Group> groups;
  Heap workers;  ///< by the time when they are free
  Heap closings; ///< issued groups, by time; their bytes
  int64_t openBytes = 0;
  double issued = 0; ///< issue time of the last item; no later item starts before it
  double end = 0;
};

} // namespace

double dash::estimateRun(const Problem &problem, const Plan &plan, const Cost &cost,
                         const Dispatch &dispatch) {
  return RunEstimate(problem, plan, cost, dispatch).run();
}

double dash::runWithoutWaiting(const Plan &plan, const Cost &cost, int64_t workers) {
  double between = timeBetweenItems(cost, plan.pieces);
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int64_t worker = 0; worker < workers; ++worker)
    free.push(0);
  double end = 0;
  for (const PlannedItem &planned : plan.items) {
    int64_t tasks = planned.tiles.size() * plan.headsPerItem;
    double time = free.top() + (tasks ? tasks * cost.compute + between : 0);
    free.pop();
    free.push(time);
    end = std::max(end, time);
  }
  return end;
}
