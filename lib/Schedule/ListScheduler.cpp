//===- ListScheduler.cpp - find an order by simulating it -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events are taken in the order in which workers are ready to add; each adds behind what its chain
// holds by then. So the order of arrival is the order of the chain, and the times are those that
// the cost model gives to the frozen order.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/ListScheduler.h"
#include "Replay.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <deque>
#include <queue>

using namespace mlir;
using namespace mlir::dash;

namespace {

/// How many q tiles a walk looks ahead for one to which nobody is adding.
constexpr int64_t lookahead = 48;

/// What is left of the walk over one head, as a ring in preferred order.
class Ring {
public:
  void fill(ArrayRef<Visit> visits) {
    next.resize(visits.size());
    for (int32_t i : llvm::seq<int32_t>(visits.size()))
      next[i] = i + 1;
    if (!next.empty())
      next.back() = 0;
    before = int32_t(next.size()) - 1;
    size = next.size();
  }
  /// Takes the first entry, or of the nearest ones the one of least `wait`, and goes on behind it.
  int32_t take(llvm::function_ref<double(int32_t)> wait) {
    int32_t best = before;
    double least = std::numeric_limits<double>::infinity();
    int32_t at = before;
    for (int64_t i = 0, e = std::min(size, lookahead); i < e && least > 0; ++i, at = next[at])
      if (double time = wait(next[at]); time < least) {
        least = time;
        best = at;
      }
    int32_t taken = next[best];
    next[best] = next[taken];
    before = best;
    --size;
    return taken;
  }
  int64_t size = 0;

private:
  std::vector<int32_t> next;
  int32_t before = 0;
};

class ListScheduler {
public:
  ListScheduler(const Problem &problem, Plan &plan, const Cost &cost, const Dispatch &dispatch)
      : plan(plan), cost(cost), dispatch(dispatch), chainIds(problem), kvTileIds(problem),
        chains(chainIds.size()), partTurns(kvTileIds.size()), workers(dispatch.workers),
        lanes(dispatch.lanes), groups(plan.groupDqBytes.size()), issued(plan.items.size(), -1) {
    for (auto [index, worker] : llvm::enumerate(workers))
      worker.lane = index % dispatch.lanes;
    for (PlannedItem &item : plan.items)
      ++groups[item.group].unfinished;
    if (dispatch.lanes > 1)
      for (auto [index, item] : llvm::enumerate(plan.items))
        groups[item.group].items.push_back(index);
  }

  ListSchedule run() {
    for (int32_t worker : llvm::seq<int32_t>(workers.size()))
      events.push({0, worker});
    while (!events.empty()) {
      int32_t worker = events.top().second;
      events.pop();
      step(worker);
    }
    return collect();
  }

private:
  struct Chain {
    double end = 0;
    int32_t worker = -1, turns = 0;
  };
  struct Worker {
    int32_t lane = 0, item = -1;
    size_t visit = 0, headBegin = 0;
    int64_t step = 0;
    double computeEnd = 0;
    std::deque<double> reduceEnds; ///< of the last `buffers` tasks
    Ring ring;
    std::vector<Visit> walked;
  };
  struct Lane {
    std::deque<int32_t> items;
  };
  struct Group {
    int64_t unfinished = 0;
    bool isOpen = false;
    double end = 0;
    std::vector<int32_t> items;
  };

  /// When a worker could start to compute its next task, and to add it were it its turn.
  double startTime(const Worker &worker) const {
    double bufferFree = worker.step < cost.buffers ? 0 : worker.reduceEnds.front();
    return std::max(worker.computeEnd, bufferFree);
  }
  double readyTime(const Worker &worker) const {
    double previous = worker.step == 0 ? 0 : worker.reduceEnds.back();
    return std::max(startTime(worker) + cost.compute, previous);
  }
  void wakeUp(int32_t worker) { events.push({readyTime(workers[worker]), worker}); }

  void step(int32_t index) {
    Worker &worker = workers[index];
    if (worker.item < 0 && !takeItem(index))
      return;
    PlannedItem &planned = plan.items[worker.item];
    if (worker.visit == planned.visits.size())
      return finishItem(index);
    Visit visit = nextVisit(worker, planned, index);
    int64_t id = chainIds(planned.item.sequence, visit.head, visit.q);
    Chain &chain = chains[id];
    if (!dispatch.choosesVisits && visit.turn != chain.turns) {
      asleep[{id, visit.turn}] = index;
      return;
    }
    visit.turn = chain.turns++;
    addTask(worker, index, chain);
    worker.walked.push_back(visit);
    ++worker.visit;
    Group &group = groups[planned.group];
    group.end = std::max(group.end, chain.end);
    if (!dispatch.choosesVisits)
      wakeSleeper(id, chain.turns);
    wakeUp(index);
  }

  Visit nextVisit(Worker &worker, const PlannedItem &planned, int32_t index) {
    if (!dispatch.choosesVisits)
      return planned.visits[worker.visit];
    if (worker.ring.size == 0) {
      worker.headBegin = worker.visit;
      size_t end = worker.visit;
      while (end < planned.visits.size() &&
             planned.visits[end].head == planned.visits[worker.visit].head)
        ++end;
      worker.ring.fill(ArrayRef(planned.visits).slice(worker.visit, end - worker.visit));
    }
    double ready = readyTime(worker);
    int32_t taken = worker.ring.take([&](int32_t i) {
      const Visit &visit = planned.visits[worker.headBegin + i];
      const Chain &chain = chains[chainIds(planned.item.sequence, visit.head, visit.q)];
      double hop = chain.worker < 0 || chain.worker == index ? 0 : cost.latency;
      return std::max(0.0, chain.end + hop - ready);
    });
    return planned.visits[worker.headBegin + taken];
  }

  void addTask(Worker &worker, int32_t index, Chain &chain) {
    double ready = readyTime(worker);
    double hop = chain.worker < 0 || chain.worker == index ? 0 : cost.latency;
    worker.computeEnd = startTime(worker) + cost.compute;
    chain.end = std::max(ready, chain.end + hop) + cost.reduce;
    chain.worker = index;
    if (worker.step >= cost.buffers)
      worker.reduceEnds.pop_front();
    worker.reduceEnds.push_back(chain.end);
    ++worker.step;
    makespan = std::max(makespan, chain.end);
  }

  /// Gives a worker the next item; false if there is none, or if it has to wait for dQ to close.
  bool takeItem(int32_t index) {
    Worker &worker = workers[index];
    int32_t next = dispatch.lanes > 1 ? nextOfLane(lanes[worker.lane]) : nextOfAll(index);
    if (next < 0)
      return false;
    worker.item = next;
    worker.visit = 0;
    worker.walked.clear();
    worker.walked.reserve(plan.items[next].visits.size());
    issued[next] = numIssued++;
    plan.items[next].item.worker = index;
    return true;
  }

  int32_t nextOfLane(Lane &lane) {
    while (lane.items.empty()) {
      if (nextGroup == groups.size())
        return -1;
      auto &items = groups[nextGroup++].items;
      lane.items.assign(items.begin(), items.end());
    }
    int32_t next = lane.items.front();
    lane.items.pop_front();
    return next;
  }

  int32_t nextOfAll(int32_t index) {
    if (nextItem == plan.items.size())
      return -1;
    int32_t number = plan.items[nextItem].group;
    Group &group = groups[number];
    if (!group.isOpen) {
      int64_t bytes = plan.groupDqBytes[number];
      if (dispatch.maxDqBytes > 0 && openBytes > 0 && openBytes + bytes > dispatch.maxDqBytes) {
        waitForDq(index);
        return -1;
      }
      group.isOpen = true;
      openBytes += bytes;
    }
    return nextItem++;
  }

  /// A group has closed: whoever waited goes on when its last sum was in memory.
  void closeGroup(int32_t number) {
    openBytes -= groups[number].isOpen ? plan.groupDqBytes[number] : 0;
    for (int32_t index : std::exchange(waitingForDq, {})) {
      Worker &worker = workers[index];
      worker.computeEnd = std::max(worker.computeEnd, groups[number].end);
      wakeUp(index);
    }
  }
  void waitForDq(int32_t index) { waitingForDq.push_back(index); }

  void finishItem(int32_t index) {
    Worker &worker = workers[index];
    PlannedItem &planned = plan.items[worker.item];
    int64_t tile = kvTileIds(planned.item);
    if (!dispatch.choosesVisits && planned.item.partTurn != partTurns[tile]) {
      asleep[{chainIds.size() + tile, planned.item.partTurn}] = index;
      return;
    }
    planned.item.partTurn = partTurns[tile]++;
    planned.visits.swap(worker.walked);
    worker.item = -1;
    if (--groups[planned.group].unfinished == 0)
      closeGroup(planned.group);
    if (!dispatch.choosesVisits)
      wakeSleeper(chainIds.size() + tile, partTurns[tile]);
    wakeUp(index);
  }

  void wakeSleeper(int64_t chain, int32_t turn) {
    auto it = asleep.find({chain, turn});
    if (it == asleep.end())
      return;
    wakeUp(it->second);
    asleep.erase(it);
  }

  ListSchedule collect() {
    assert(numIssued == int64_t(plan.items.size()) && asleep.empty() && "every item has run");
    std::vector<int32_t> order(plan.items.size());
    for (auto [index, place] : llvm::enumerate(issued))
      order[place] = index;
    ListSchedule result;
    result.makespan = makespan;
    for (int32_t index : order) {
      PlannedItem &planned = plan.items[index];
      result.table.items.push_back(planned.item);
      llvm::append_range(result.table.visits, planned.visits);
      result.table.begin.push_back(result.table.visits.size());
    }
    return result;
  }

  Plan &plan;
  const Cost &cost;
  const Dispatch &dispatch;
  ChainIds chainIds;
  KvTileIds kvTileIds;
  std::vector<Chain> chains;
  std::vector<int32_t> partTurns;
  std::vector<Worker> workers;
  std::vector<Lane> lanes;
  std::vector<Group> groups;
  std::vector<int32_t> issued; ///< place of each item in the order of issue
  /// Earliest first; equal times in order of the workers.
  using Event = std::pair<double, int32_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  llvm::DenseMap<std::pair<int64_t, int32_t>, int32_t> asleep; // looked up only
  std::vector<int32_t> waitingForDq;
  size_t nextItem = 0, nextGroup = 0;
  int64_t numIssued = 0, openBytes = 0;
  double makespan = 0;
};

} // namespace

ListSchedule dash::runListScheduler(const Problem &problem, Plan plan, const Cost &cost,
                                    const Dispatch &dispatch) {
  return ListScheduler(problem, plan, cost, dispatch).run();
}
