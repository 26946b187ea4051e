//===- ListScheduler.cpp - find an order by simulating it -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events are taken in the order in which workers are ready to add. Each adds after what its chain
// holds by then. So the order of arrival is the order of the chain, and the times are those that
// the cost model gives to the frozen order.
//
// A search runs this for every layout, so a task may cost only a few nanoseconds. Everything lies
// in flat arrays, a run writes its table in place, and no task or item allocates memory.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/ListScheduler.h"
#include "EventQueue.h"
#include "Replay/Clock.h"
#include "Replay/Replay.h"
#include "Replay/Sleepers.h"
#include "dash/Schedule/Progress.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dash;

namespace {

/// How many q tiles a walk looks ahead for one that no other worker adds to.
constexpr int32_t lookahead = 48;

/// The remaining places of a walk: iterates once over them, from one on and around.
class LeftPlaces {
public:
  LeftPlaces(ArrayRef<uint64_t> left, int32_t first)
      : left(left), word(first / 64), bits(left[word] & ~uint64_t(0) << first % 64) {}

  int32_t next() {
    while (bits == 0) {
      word = word + 1 == left.size() ? 0 : word + 1;
      bits = left[word];
    }
    int32_t place = word * 64 + llvm::countr_zero(bits);
    bits &= bits - 1;
    return place;
  }

private:
  ArrayRef<uint64_t> left;
  size_t word;
  uint64_t bits;
};

template <bool choosesVisits> class ListScheduler {
public:
  ListScheduler(const Problem &problem, Plan &plan, const Cost &cost, const Dispatch &dispatch,
                ListSchedule &result)
      : plan(plan), cost(cost), dispatch(dispatch), result(result), chainIds(problem),
        kvTileIds(problem), chains(chainIds.size()), partTurns(kvTileIds.size()),
        partChains(plan.pieces > 0 ? kvTileIds.size() : 0), workers(dispatch.workers),
        groups(plan.groupDqBytes.size()),
        events(dispatch.workers, std::max(cost.compute, cost.reduce)), lost(cost, plan.pieces) {
    for (auto [index, worker] : llvm::enumerate(workers))
      worker.lane = index % dispatch.lanes;
    for (const PlannedItem &item : plan.items) {
      ++groups[item.group].unfinished;
      numTasks += numVisits(item);
      numItems += numVisits(item) > 0;
    }
    if (dispatch.lanes > 1)
      sortByGroup();
  }

  LogicalResult run() {
    Table &table = result.table;
    table.items.clear();
    table.items.reserve(plan.items.size());
    table.begin.assign(1, 0);
    table.begin.reserve(plan.items.size() + 1);
    table.visits.resize(numTasks);
    double spare = lost.spare(dispatch.limit, workers.size(), numTasks, numItems);
    for (int32_t worker : llvm::seq<int32_t>(workers.size()))
      events.push(0, worker);
    int64_t steps = 0;
    for (int32_t worker; (worker = events.pop()) >= 0;) {
      step(worker);
      ++steps;
      if (lost.get() > spare) {
        countWork(steps);
        return failure();
      }
    }
    countWork(numTasks);
    assert(table.items.size() == plan.items.size() && asleep.empty() && "every item has run");
    result.makespan = makespan;
    return success(makespan < dispatch.limit);
  }

private:
  struct Worker {
    WorkerTime time;
    int32_t lane = 0;
    int32_t item = -1;       ///< index in the plan
    int32_t entry = -1;      ///< index in the table
    Visit *visits = nullptr; ///< the item's visits in the table
    int64_t visit = 0;       ///< index of the next one
    int64_t numVisits = 0;   ///< of the item
    int64_t firstChain = 0;  ///< of the item's sequence or, if visits are chosen, of the head
    int32_t head = -1;
    // The walk over a head: a bit for each remaining place in preferred order, and where it goes
    // on.
    int32_t numLeft = 0, place = 0;
    std::vector<uint64_t> left;
  };
  struct Lane {
    int64_t next = 0, end = 0; ///< in byGroup
  };
  struct Group {
    int64_t unfinished = 0;
    bool isOpen = false;
    double end = 0;
  };

  int64_t numVisits(const PlannedItem &item) const {
    return choosesVisits ? plan.headsPerItem * item.tiles.size() : item.visits.size();
  }

  void sortByGroup() {
    groupBegin.resize(groups.size() + 1);
    for (const PlannedItem &item : plan.items)
      ++groupBegin[item.group + 1];
    std::partial_sum(groupBegin.begin(), groupBegin.end(), groupBegin.begin());
    std::vector<int64_t> next(groupBegin.begin(), groupBegin.end() - 1);
    byGroup.resize(plan.items.size());
    for (auto [index, item] : llvm::enumerate(plan.items))
      byGroup[next[item.group]++] = index;
    lanes.resize(dispatch.lanes);
  }

  /// The time when a worker could add its next task if it were its turn.
  double readyTime(const WorkerTime &time, bool beginsItem) const {
    double start = TaskTimes::startOf(cost, plan.pieces, time, beginsItem);
    return std::max(start + cost.compute + (beginsItem ? cost.boundary : 0), time.reduceEnd);
  }
  void wakeUp(int32_t index) {
    const Worker &worker = workers[index];
    bool isDone = worker.visit == worker.numVisits;
    bool addsPart = plan.pieces > 0 && isDone && worker.item >= 0;
    events.push(addsPart ? worker.time.reduceEnd
                         : readyTime(worker.time, isDone || worker.visit == 0),
                index);
  }

  /// One task of a worker, and whatever it does before it.
  void step(int32_t index) {
    Worker &worker = workers[index];
    while (worker.item < 0 || worker.visit == worker.numVisits) {
      if (worker.item < 0 ? !takeItem(worker, index) : !finishItem(worker, index))
        return;
    }
    Visit visit;
    int64_t id;
    if (choosesVisits) {
      visit = choose(worker, index);
      id = worker.firstChain + visit.tile;
    } else {
      const PlannedItem &planned = plan.items[worker.item];
      visit = planned.visits[worker.visit];
      visit.head += planned.firstHead;
      id = chainIds(planned.item.sequence, visit.head, visit.tile);
      if (visit.turn != chains[id].turns) {
        asleep.insert(id, visit.turn, index);
        return;
      }
    }
    ChainTime &chain = chains[id];
    visit.turn = chain.turns;
    bool beginsItem = worker.visit == 0;
    worker.visits[worker.visit++] = visit;

    TaskTimes times(cost, plan.pieces, worker.time, chain, index, plan.apart != Apart::All,
                    beginsItem);
    lost.add(worker.time, times, beginsItem);
    times.store(cost, worker.time, chain, index);
    makespan = std::max(makespan, times.reduceEnd);
    if (!choosesVisits)
      wakeSleeper(id, chain.turns);
    wakeUp(index);
  }

  /// Chooses, among the nearest q tiles, the one with the least wait; the walk goes on after it.
  /// Most time of a search is spent in this loop: bits stay in the first-level cache, and no load
  /// determines the next place.
  Visit choose(Worker &worker, int32_t index) {
    const PlannedItem &planned = plan.items[worker.item];
    if (worker.numLeft == 0)
      enterHead(worker, planned);
    const int32_t *tiles = planned.tiles.data();
    const ChainTime *chain = chains.data() + worker.firstChain;
    LeftPlaces places(worker.left, worker.place);
    int32_t best = places.next();
    double ready = plan.apart == Apart::All ? std::numeric_limits<double>::infinity()
                                            : readyTime(worker.time, worker.visit == 0);
    double least = chain[tiles[best]].freeFor(index, cost);
    for (int32_t i = std::min(worker.numLeft, lookahead); i > 1 && least > ready; --i) {
      int32_t place = places.next();
      double time = chain[tiles[place]].freeFor(index, cost);
      best = time < least ? place : best;
      least = std::min(time, least);
    }
    worker.left[best / 64] &= ~(uint64_t(1) << best % 64);
    worker.place = best; // already taken
    --worker.numLeft;
    return {worker.head, tiles[best], 0};
  }

  void enterHead(Worker &worker, const PlannedItem &planned) {
    size_t size = planned.tiles.size();
    if (worker.head < 0)
      worker.head = planned.firstHead + (plan.rotates ? planned.item.tile % plan.headsPerItem : 0);
    else if (++worker.head == planned.firstHead + plan.headsPerItem)
      worker.head = planned.firstHead;
    worker.firstChain = chainIds(planned.item.sequence, worker.head, 0);
    worker.left.assign(llvm::divideCeil(size, 64), ~uint64_t(0));
    worker.left.back() >>= -size % 64;
    worker.place = 0;
    worker.numLeft = size;
  }

  /// Gives a worker the next item; false if there is none, or if it must wait for dQ to close.
  bool takeItem(Worker &worker, int32_t index) {
    int32_t next = dispatch.lanes > 1 ? nextOfLane(lanes[worker.lane]) : nextOfAll(index);
    if (next < 0)
      return false;
    const PlannedItem &planned = plan.items[next];
    Table &table = result.table;
    worker.item = next;
    worker.visit = 0;
    worker.numVisits = numVisits(planned);
    worker.head = -1;
    worker.entry = table.items.size();
    worker.visits = table.visits.data() + table.begin.back();
    table.items.push_back(planned.item);
    table.items.back().worker = index;
    table.begin.push_back(table.begin.back() + worker.numVisits);
    return true;
  }

  int32_t nextOfLane(Lane &lane) {
    while (lane.next == lane.end) {
      if (nextGroup == groups.size())
        return -1;
      lane = {groupBegin[nextGroup], groupBegin[nextGroup + 1]};
      ++nextGroup;
    }
    return byGroup[lane.next++];
  }

  int32_t nextOfAll(int32_t index) {
    if (nextItem == plan.items.size())
      return -1;
    int32_t number = plan.items[nextItem].group;
    Group &group = groups[number];
    if (!group.isOpen) {
      int64_t bytes = plan.groupDqBytes[number];
      if (dispatch.maxDqBytes > 0 && openBytes > 0 && openBytes + bytes > dispatch.maxDqBytes) {
        waitingForDq.push_back(index);
        return -1;
      }
      group.isOpen = true;
      openBytes += bytes;
    }
    return nextItem++;
  }

  /// False if the worker must wait for its turn among the parts, or adds its sums before it goes
  /// on.
  bool finishItem(Worker &worker, int32_t index) {
    const PlannedItem &planned = plan.items[worker.item];
    int64_t tile = kvTileIds(planned.item);
    if (!choosesVisits && planned.item.partTurn != partTurns[tile]) {
      asleep.insert(chainIds.size() + tile, planned.item.partTurn, index);
      return false;
    }
    result.table.items[worker.entry].partTurn = partTurns[tile]++;
    worker.item = -1;
    Group &group = groups[planned.group];
    group.end = std::max(group.end, worker.time.reduceEnd);
    if (--group.unfinished == 0)
      closeGroup(planned.group);
    if (plan.pieces > 0)
      addPart(worker, tile, index);
    if (!choosesVisits)
      wakeSleeper(chainIds.size() + tile, partTurns[tile]);
    return plan.pieces == 0;
  }

  void addPart(Worker &worker, int64_t tile, int32_t index) {
    ChainTime &chain = partChains[tile];
    PartTimes times(cost, plan.pieces, worker.time, chain, index, plan.apart == Apart::None);
    times.store(cost, plan.pieces, worker.time, chain, index);
    makespan = std::max(makespan, times.end);
    wakeUp(index);
  }

  /// A group has closed: waiting workers go on at the time when its last sum was in memory.
  void closeGroup(int32_t number) {
    openBytes -= groups[number].isOpen ? plan.groupDqBytes[number] : 0;
    for (int32_t index : std::exchange(waitingForDq, {})) {
      WorkerTime &time = workers[index].time;
      time.computeEnd = std::max(time.computeEnd, groups[number].end);
      wakeUp(index);
    }
  }

  void wakeSleeper(int64_t chain, int32_t turn) {
    if (asleep.empty())
      return;
    if (int32_t index = asleep.take(chain, turn); index >= 0)
      wakeUp(index);
  }

  Plan &plan;
  const Cost &cost;
  const Dispatch &dispatch;
  ListSchedule &result;
  ChainIds chainIds;
  OwnTileIds kvTileIds;
  std::vector<ChainTime> chains;
  std::vector<int32_t> partTurns;
  std::vector<ChainTime> partChains;
  std::vector<Worker> workers;
  std::vector<Lane> lanes;
  std::vector<Group> groups;
  std::vector<int64_t> groupBegin, byGroup; ///< items of a group, with lanes
  EventQueue events;
  Sleepers asleep;
  std::vector<int32_t> waitingForDq;
  size_t nextItem = 0, nextGroup = 0;
  int64_t numTasks = 0, numItems = 0, openBytes = 0; ///< counts items that have tasks
  LostTime lost;
  double makespan = 0;
};

} // namespace

LogicalResult dash::runListScheduler(const Problem &problem, Plan &plan, const Cost &cost,
                                     const Dispatch &dispatch, ListSchedule &result) {
  if (dispatch.choosesVisits)
    return ListScheduler<true>(problem, plan, cost, dispatch, result).run();
  return ListScheduler<false>(problem, plan, cost, dispatch, result).run();
}
