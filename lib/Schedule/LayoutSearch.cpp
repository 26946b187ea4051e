//===- LayoutSearch.cpp - try layouts of a problem ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/LayoutSearch.h"
#include "Clock.h"
#include "PackItems.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <queue>

using namespace mlir;
using namespace mlir::dash;

/// Layouts that are tried in any case, whatever the budget.
static constexpr int64_t fewestLayouts = 2;
/// What a hop is taken to last longer, in tasks. Measured on an H200: without it, searched orders of causal masks at head
/// dim 128 are up to 4 % slower than with a quarter; a half is no faster.
static constexpr double slowHop = 0.25;
/// How much longer an order may take whose heads leave room for their Q and dO in L2, which are as many bytes as their dQ.
static constexpr double crowding = 1.01;

namespace {

enum class ItemOrder {
  LongestFirst, ///< each to the worker that is free first
  ByKv,         ///< likewise, as they come
  Packed        ///< to lists of nearly equal lengths, made beforehand
};
enum class Start { Spread, First, Last };

struct Layout {
  int64_t maxDqBytes, groupsAtOnce;
  ItemOrder itemOrder;
  Start start;

  bool operator==(const Layout &other) const {
    return maxDqBytes == other.maxDqBytes && groupsAtOnce == other.groupsAtOnce &&
           itemOrder == other.itemOrder && start == other.start;
  }
};

/// One (sequence, kv head, part).
struct Group {
  int32_t sequence, kvHead, part;
  int64_t tasks;

  auto key() const { return std::tuple(-tasks, sequence, kvHead, part); }
};

/// The active q tiles of the kv tiles of one sequence, in one preferred order: what all its heads, and all
/// sequences of its lengths, walk.
class Walks {
public:
  Walks(const Problem &problem, const PartCut &cut, int64_t sequence, int64_t workers, Start start)
      : runs(cut.runs()) {
    int64_t numKvTiles = problem.numKvTiles(sequence);
    int64_t places = std::min(numKvTiles, workers);
    for (int64_t kv : llvm::seq(numKvTiles)) {
      TileSet active = problem.activeQ(sequence, kv);
      if (problem.mask.isBand())
        llvm::append_range(tiles, llvm::seq<int32_t>(active.hull().begin, active.hull().end));
      else
        llvm::append_range(tiles, active.tiles());
      auto first = tiles.begin() + begin.back();
      int64_t numTiles = tiles.end() - first;
      for (int64_t run : llvm::seq(runs)) {
        TileRange mine = cut.places(run, numTiles);
        auto walk = first + mine.begin, end = first + mine.end;
        if (start == Start::Last)
          std::reverse(walk, end);
        // Spread walks start evenly over their tiles, as those of `shift` do.
        if (start == Start::Spread)
          std::rotate(walk, walk + kv % places * mine.size() / places, end);
        begin.push_back(end - tiles.begin());
      }
    }
  }
  /// What a part has of a kv tile.
  ArrayRef<int32_t> operator()(int64_t kv, int64_t part) const {
    int64_t walk = kv * runs + part % runs;
    return ArrayRef(tiles).slice(begin[walk], begin[walk + 1] - begin[walk]);
  }
  int64_t numTasks() const { return tiles.size(); }

private:
  int64_t runs;
  std::vector<int64_t> begin = {0};
  std::vector<int32_t> tiles;
};

class LayoutSearch {
public:
  explicit LayoutSearch(const LayoutRequest &request) : request(request), problem(request.problem) {
    std::map<std::pair<int64_t, int64_t>, int32_t> known; // looked up only
    for (int32_t s : llvm::seq<int32_t>(problem.numSequences())) {
      const SequenceLengths &lengths = problem.sequences[s];
      auto [shape, isNew] = known.try_emplace({lengths.q, lengths.kv}, shapes.size());
      if (isNew)
        shapes.push_back({s, problem.numTasksPerHead(s)});
      shapeOf.push_back(shape->second);
      for (int32_t kvHead : llvm::seq<int32_t>(problem.kvHeads))
        for (int32_t part : llvm::seq<int32_t>(request.parts))
          groups.push_back({s, kvHead, part, shapes[shape->second].tasks});
    }
    // Long sequences first: short ones fill the gaps at the end.
    llvm::sort(groups, [](const Group &a, const Group &b) { return a.key() < b.key(); });
    repeated = problem;
    for (int64_t copy = 1; copy < request.copies; ++copy)
      llvm::append_range(repeated.sequences, problem.sequences);
  }

  void run(llvm::function_ref<double(ListSchedule &)> judge) {
    ListSchedule run;
    double least = leastMakespan(request);
    int64_t tasks = problem.numTasks() * request.copies, simulated = 0;
    for (const Layout &layout : listLayouts()) {
      Plan plan = makePlan(layout);
      double handicap = layout.maxDqBytes > roomyDqBytes() ? crowding : 1;
      Dispatch dispatch;
      dispatch.workers = request.workers;
      dispatch.maxDqBytes = layout.maxDqBytes;
      dispatch.lanes = layout.itemOrder == ItemOrder::Packed ? request.workers : 1;
      dispatch.limit = limit / handicap;
      if (failed(runListScheduler(repeated, plan, cost, dispatch, run)))
        continue;
      if (request.copies > 1)
        takeMiddle(run);
      limit = judge(run) * handicap;
      simulated += tasks;
      if (run.makespan <= least * (simulated < searchBudget ? goodEnough : soonEnough))
        return;
    }
  }

private:
  /// What leaves room for Q and dO; 0 is no limit.
  int64_t roomyDqBytes() const {
    return request.maxDqBytes > 0 ? std::max<int64_t>(request.maxDqBytes / 2, 1) : 0;
  }

  /// How many groups of the largest kind are in flight with so many bytes of dQ; all of them if 0.
  int64_t groupsWithin(int64_t bytes) const {
    int64_t largest = 1, numGroups = groups.size();
    for (const Shape &shape : shapes)
      largest = std::max(largest, dqBytesOfGroup(problem, request.parts, shape.sequence));
    return bytes > 0 ? std::clamp<int64_t>(bytes / largest, 1, numGroups) : numGroups;
  }

  /// Half of those that fit, so that the next ones overlap with them; all of them where halves leave workers idle.
  int64_t groupsToBeginWith(int64_t most) {
    auto time = [&](int64_t groupsAtOnce) {
      return simulateWithoutWaiting(
          makePlan({0, groupsAtOnce, ItemOrder::LongestFirst, Start::Last}));
    };
    int64_t half = std::max<int64_t>(most / 2, 1);
    return time(half) > 1.02 * time(most) ? most : half;
  }

  /// Of items that go to whoever is free first, if nobody waited for a turn.
  double simulateWithoutWaiting(const Plan &plan) const {
    double between = timeBetweenItems(cost, plan.pieces);
    std::priority_queue<double, std::vector<double>, std::greater<>> workers;
    for (int64_t worker = 0; worker < request.workers; ++worker)
      workers.push(0);
    double end = 0;
    for (const PlannedItem &planned : plan.items) {
      int64_t tasks = planned.tiles.size() * plan.headsPerItem;
      double time = workers.top() + (tasks ? tasks * cost.compute + between : 0);
      workers.pop();
      workers.push(time);
      end = std::max(end, time);
    }
    return end;
  }

  /// Best guesses first: heads that leave room in L2, and those that fill it, with walks from the end. How many heads run
  /// at once matters most.
  std::vector<Layout> listLayouts() {
    std::vector<Layout> layouts;
    int64_t numGroups = groups.size();
    SmallVector<int64_t> limits = {roomyDqBytes()};
    if (groupsWithin(request.maxDqBytes) > groupsWithin(roomyDqBytes()))
      limits.push_back(request.maxDqBytes);
    auto add = [&](int64_t maxDqBytes, int64_t groupsAtOnce, ItemOrder itemOrder, Start start) {
      Layout layout{maxDqBytes, groupsAtOnce, itemOrder, start};
      if (!llvm::is_contained(layouts, layout))
        layouts.push_back(layout);
    };
    for (int64_t bytes : limits)
      add(bytes, groupsToBeginWith(groupsWithin(bytes)), ItemOrder::LongestFirst, Start::Last);
    for (int64_t bytes : limits) {
      int64_t most = groupsWithin(bytes);
      add(bytes, most, ItemOrder::LongestFirst, Start::Spread);
      if (most == numGroups && request.copies == 1)
        for (Start start : {Start::Spread, Start::Last})
          add(bytes, most, ItemOrder::Packed, start);
    }
    for (Start start : {Start::Last, Start::Spread, Start::First})
      for (int64_t bytes : limits) {
        int64_t most = groupsWithin(bytes);
        for (int64_t size : {most / 2, most, most / 4, int64_t(2), int64_t(3)})
          if (size == most || (size > 1 && size < most))
            add(bytes, size, ItemOrder::LongestFirst, start);
        add(bytes, 1, ItemOrder::ByKv, start);
        if (most == numGroups && request.copies == 1)
          add(bytes, most, ItemOrder::Packed, start);
      }
    int64_t tasks = std::max<int64_t>(1, problem.numTasks() * request.copies);
    int64_t affordable = std::max(fewestLayouts, searchBudget / tasks);
    if (affordable < int64_t(layouts.size()))
      layouts.resize(affordable);
    return layouts;
  }

  ArrayRef<Walks> walksFrom(Start start) {
    std::vector<Walks> &walks = walksByStart[size_t(start)];
    if (walks.empty())
      for (const Shape &shape : shapes)
        walks.emplace_back(problem, cut, shape.sequence, request.workers, start);
    return walks;
  }

  Plan makePlan(const Layout &layout) {
    Plan plan;
    plan.headsPerItem = cut.heads();
    plan.pieces = numPieces(problem, request.parts, request.cost);
    for (const Group &group : groups)
      plan.groupDqBytes.push_back(dqBytesOfGroup(problem, request.parts, group.sequence));
    ArrayRef<Walks> walks = walksFrom(layout.start);
    // As many groups to a window as allowed, as even as possible.
    int64_t numGroups = groups.size();
    int64_t numWindows = llvm::divideCeil(numGroups, layout.groupsAtOnce);
    for (int64_t window : llvm::seq(numWindows)) {
      int64_t begin = window * numGroups / numWindows, end = (window + 1) * numGroups / numWindows;
      size_t firstItem = plan.items.size();
      for (int64_t g : llvm::seq(begin, end))
        addGroup(plan, g, walks[shapeOf[groups[g].sequence]]);
      auto key = [](const PlannedItem &planned) {
        return std::tuple(-int64_t(planned.tiles.size()), planned.group, planned.item.kv);
      };
      if (layout.itemOrder != ItemOrder::ByKv)
        llvm::sort(llvm::drop_begin(plan.items, firstItem),
                   [&](auto &a, auto &b) { return key(a) < key(b); });
    }
    if (layout.itemOrder == ItemOrder::Packed)
      pack(plan);
    if (request.copies > 1)
      repeat(plan);
    return plan;
  }

  void addGroup(Plan &plan, int64_t index, const Walks &walks) const {
    const Group &group = groups[index];
    PlannedItem planned;
    planned.group = index;
    planned.item.sequence = group.sequence;
    planned.item.kvHead = group.kvHead;
    planned.item.part = group.part;
    planned.firstHead = cut.firstHead(group.kvHead, group.part);
    for (int64_t kv : llvm::seq(problem.numKvTiles(group.sequence))) {
      planned.item.kv = kv;
      planned.tiles = walks(kv, group.part);
      plan.items.push_back(planned);
    }
  }

  /// Makes a group of each worker's items, for lanes of one worker.
  void pack(Plan &plan) const {
    // In steps of a task of each of an item's heads; where lists are long, whole ones are fine enough.
    int64_t tilesPerWorker = problem.numTasks() / plan.headsPerItem / request.workers;
    int64_t steps = tilesPerWorker < (int64_t(1) << 20) ? 8 : 1;
    double boundary =
        timeBetweenItems(request.cost, plan.pieces) / (request.cost.compute * plan.headsPerItem);
    int64_t boundarySteps = std::llround(std::min(boundary, 0x1p16) * steps);
    std::vector<int64_t> lengths;
    for (const PlannedItem &planned : plan.items) {
      int64_t tiles = planned.tiles.size();
      lengths.push_back(tiles == 0 ? 0 : tiles * steps + boundarySteps);
    }
    for (auto [planned, list] : llvm::zip_equal(plan.items, packItems(lengths, request.workers)))
      planned.group = list;
    plan.groupDqBytes.assign(request.workers, 0);
  }

  /// The plan once for each copy, with its own sequences and groups.
  void repeat(Plan &plan) const {
    size_t numItems = plan.items.size(), numGroups = plan.groupDqBytes.size();
    for (int64_t copy = 1; copy < request.copies; ++copy) {
      for (size_t group = 0; group < numGroups; ++group)
        plan.groupDqBytes.push_back(plan.groupDqBytes[group]);
      for (size_t index = 0; index < numItems; ++index) {
        PlannedItem planned = plan.items[index];
        planned.item.sequence += copy * problem.numSequences();
        planned.group += copy * numGroups;
        plan.items.push_back(planned);
      }
    }
  }

  void takeMiddle(ListSchedule &run) const {
    int32_t first = request.copies / 2 * problem.numSequences();
    Table middle;
    for (auto [index, item] : llvm::enumerate(run.table.items)) {
      if (item.sequence < first || item.sequence >= first + problem.numSequences())
        continue;
      middle.items.push_back(item);
      middle.items.back().sequence -= first;
      llvm::append_range(middle.visits, run.table.visitsOf(index));
      middle.begin.push_back(middle.visits.size());
    }
    run.table = std::move(middle);
  }

  /// Sequences of equal lengths.
  struct Shape {
    int32_t sequence; ///< the first
    int64_t tasks;    ///< of a head
  };

  const LayoutRequest &request;
  const Problem &problem;
  const PartCut cut{problem, request.parts};
  const Cost cost = withSlowHops(request.cost);
  Problem repeated; ///< once for each copy
  std::vector<Shape> shapes;
  std::vector<int32_t> shapeOf; ///< of a sequence
  std::vector<Group> groups;
  std::array<std::vector<Walks>, 3> walksByStart;
  double limit = std::numeric_limits<double>::infinity();
};

} // namespace

int64_t dash::dqBytesOfGroup(const Problem &problem, int64_t parts, int64_t sequence) {
  // Items walk head after head: no more than two are in flight for long.
  PartCut cut(problem, parts);
  int64_t heads = std::min<int64_t>(cut.heads(), 2);
  return heads * problem.sequences[sequence].q * problem.headDim * int64_t(sizeof(float)) /
         cut.runs();
}

Cost dash::withSlowHops(Cost cost) {
  cost.latency += slowHop * cost.compute;
  return cost;
}

double dash::leastMakespan(const LayoutRequest &request) {
  const Problem &problem = request.problem;
  const Cost &cost = request.cost;
  int64_t pieces = numPieces(problem, request.parts, cost);
  std::map<int64_t, int64_t, std::greater<>> itemsOfTasks; // most tasks first; without tasks, none
  PartCut cut(problem, request.parts);
  for (int64_t begin = 0, end; begin < problem.numSequences(); begin = end) {
    for (end = begin + 1;
         end < problem.numSequences() && problem.sequences[end] == problem.sequences[begin];)
      ++end;
    for (int64_t kv : llvm::seq(problem.numKvTiles(begin)))
      for (int64_t run : llvm::seq(cut.runs()))
        if (int64_t tasks = cut.numTasks(run, problem.activeQ(begin, kv).size()); tasks > 0)
          itemsOfTasks[tasks] +=
              (end - begin) * problem.kvHeads * (request.parts / cut.runs()) * request.copies;
  }
  std::vector<int64_t> sum = {0}; // of the tasks of the first items
  for (auto [tasks, items] : itemsOfTasks)
    for (int64_t i = 0; i < items; ++i)
      sum.push_back(sum.back() + tasks);
  int64_t items = sum.size() - 1;
  double least = timeWithoutWaiting(cost, pieces, sum.back(), items) / request.workers;
  for (int64_t k = 0; k * request.workers < items; ++k) {
    int64_t end = k * request.workers + 1;
    least = std::max(least, timeWithoutWaiting(cost, pieces, sum[end] - sum[end - k - 1], k + 1));
  }
  return least;
}

void dash::searchLayouts(const LayoutRequest &request,
                         llvm::function_ref<double(ListSchedule &)> judge) {
  LayoutSearch(request).run(judge);
}
