//===- LayoutSearch.cpp - try layouts of a problem ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/LayoutSearch.h"
#include "EstimateRun.h"
#include "PackItems.h"
#include "Replay/Clock.h"
#include "dash/Schedule/Progress.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace mlir;
using namespace mlir::dash;

/// The number of layouts tried whatever the budget.
static constexpr int64_t fewestLayouts = 2;
/// How much longer a hop is assumed to take, in tasks. Measured on an H200: without it, searched
/// orders of causal masks at head dim 128 are up to 4 % slower than with a quarter; a half is no
/// faster.
static constexpr double slowHop = 0.25;
/// Estimates this near to the least one do not tell which layout is better, or only roughly.
static constexpr double nearOf = 1.08, sureOf = 1.01;
/// The first guess is skipped if its estimate is this far from the lower bound.
static constexpr double hopeless = 1.2;
/// With a run this near to the lower bound, the guesses are accepted without estimates.
static constexpr double fineOf = 1.04;
/// How much longer an order may take if its heads leave room in L2 for their Q and dO, which are as
/// many bytes as their dQ.
static constexpr double crowding = 1.01;
/// How much longer an order counts that keeps more dQ in flight than allowed: adds that leave L2
/// take twice as long.
static constexpr double spilling = 1.5;

namespace {

enum class ItemOrder {
  LongestFirst, ///< to the first free worker; of equally long items, those of a group side by side
  Interleaved,  ///< likewise; of equally long items, one of each group in turn
  /// likewise, but first one of two of each group and of each kv tile: half as many add to one sum
  /// at once
  Checkered,
  ByKv,  ///< to the first free worker, in kv order
  Packed ///< to lists of nearly equal lengths, made beforehand
};
enum class Start { Spread, First, Last };

struct Layout {
  int64_t maxDqBytes, groupsAtOnce;
  ItemOrder itemOrder;
  Start start;
  bool rotates =
      false; ///< items of a group each begin with another head, instead of all with the first

  auto key() const { return std::tuple(maxDqBytes, groupsAtOnce, itemOrder, start, rotates); }
  bool operator==(const Layout &other) const { return key() == other.key(); }
};

/// One (sequence, kv head, part).
struct Group {
  int32_t sequence, kvHead, part;
  int64_t tasks;

  auto key() const { return std::tuple(-tasks, sequence, kvHead, part); }
};

/// The active q tiles of the kv tiles of one sequence, in one preferred order. All its heads, and
/// all sequences of its lengths, walk it.
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
        // Spread walks start evenly over their tiles, like those of `shift`.
        if (start == Start::Spread)
          std::rotate(walk, walk + kv % places * mine.size() / places, end);
        begin.push_back(end - tiles.begin());
      }
    }
  }
  /// A part's share of a kv tile.
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
  LayoutSearch(const LayoutRequest &request, llvm::function_ref<double(ListSchedule &)> judge)
      : request(request), problem(request.problem), judge(judge) {
    std::map<std::pair<int64_t, int64_t>, int32_t> known; // looked up only
    for (int32_t s : llvm::seq<int32_t>(problem.numSequences())) {
      const SequenceLengths &lengths = problem.sequences[s];
      auto [shape, isNew] = known.try_emplace({lengths.q, lengths.kv}, shapes.size());
      if (isNew)
        addShape(s);
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

  void run() {
    std::vector<Layout> layouts = listLayouts();
    int64_t tasks = std::max<int64_t>(1, problem.numTasks() * request.copies);
    size_t affordable = std::max(fewestLayouts, searchBudget / tasks);
    if (affordable < layouts.size()) {
      // Mostly the first guess is good, and so are the next ones.
      bool isGood = estimate(layouts.front()) <= least * hopeless;
      if (isGood) {
        if (isContentWith(layouts.front(), handicapOf(layouts.front())))
          return;
        isGood = limit <= least * fineOf;
        layouts.erase(layouts.begin());
        --affordable;
      }
      if (!isGood)
        sortByEstimates(layouts);
      layouts.resize(affordable);
    }
    for (const Layout &layout : layouts)
      if (isContentWith(layout, handicapOf(layout)))
        return;
    // If each head has one tile that takes longer than all others in flight, only more heads keep
    // workers busy.
    if (request.maxDqBytes > 0 && limit > least * spilling)
      for (int64_t bytes : {4 * request.maxDqBytes, int64_t(0)})
        if (groupsWithin(bytes) > groupsWithin(request.maxDqBytes))
          isContentWith({bytes, groupsWithin(bytes), ItemOrder::LongestFirst, Start::Last},
                        spilling);
  }

private:
  /// Sequences of equal lengths.
  struct Shape {
    int32_t sequence;  ///< the first one
    int64_t tasks = 0; ///< of one head
    int64_t items = 0; ///< of a group: items that have tasks
    int64_t rows = 0;  ///< rows of dQ that receive adds
  };

  Dispatch makeDispatch(const Layout &layout) const {
    Dispatch dispatch;
    dispatch.workers = request.workers;
    dispatch.maxDqBytes = layout.maxDqBytes;
    dispatch.lanes = layout.itemOrder == ItemOrder::Packed ? request.workers : 1;
    return dispatch;
  }

  void addShape(int32_t sequence) {
    Shape shape{sequence};
    std::set<int64_t> lengths;
    for (int64_t kv : llvm::seq(problem.numKvTiles(sequence))) {
      int64_t tasks = problem.activeQ(sequence, kv).size();
      shape.tasks += tasks;
      shape.items += tasks > 0;
      hasEqualItems |= tasks > 0 && !lengths.insert(tasks).second;
    }
    int64_t qRows = problem.sequences[sequence].q, tile = problem.tiles.q;
    for (int64_t q : llvm::seq(problem.numQTiles(sequence)))
      if (problem.activeKv(sequence, q).size() > 0)
        shape.rows += std::min(tile, qRows - q * tile);
    shapes.push_back(shape);
  }

  /// The limit that leaves room for Q and dO; 0 is no limit.
  int64_t roomyDqBytes() const {
    return request.maxDqBytes > 0 ? std::max<int64_t>(request.maxDqBytes / 2, 1) : 0;
  }

  double handicapOf(const Layout &layout) const {
    return layout.maxDqBytes > roomyDqBytes() ? crowding : 1;
  }

  /// Bytes of f32 dQ in flight while a group is unfinished.
  int64_t dqBytesOf(const Shape &shape, bool rotates) const {
    int64_t heads = cut.heads();
    if (!rotates) // items walk head after head: at most two are in flight for long
      heads = std::min<int64_t>(heads, 2);
    return heads * shape.rows * problem.headDim * int64_t(sizeof(float)) / cut.runs();
  }

  /// Bytes of the groups that give each worker an item: with fewer, workers would be idle.
  int64_t bytesForAllWorkers() const {
    int64_t fewest = std::numeric_limits<int64_t>::max(), largest = 1;
    for (const Shape &shape : shapes) {
      fewest = std::min(fewest, std::max<int64_t>(shape.items, 1));
      largest = std::max(largest, dqBytesOf(shape, /*rotates=*/false));
    }
    return request.maxDqBytes > 0 ? llvm::divideCeil(request.workers, fewest) * largest : 0;
  }

  /// How many groups of the largest kind are in flight with `bytes` bytes of dQ; all of them if 0.
  int64_t groupsWithin(int64_t bytes, bool rotates = false) const {
    int64_t largest = 1, numGroups = groups.size();
    for (const Shape &shape : shapes)
      largest = std::max(largest, dqBytesOf(shape, rotates));
    return bytes > 0 ? std::clamp<int64_t>(bytes / largest, 1, numGroups) : numGroups;
  }

  /// Half of the groups that fit, so that the next ones overlap with them; all of them if halves
  /// leave workers idle.
  int64_t groupsToBeginWith(int64_t most) {
    auto time = [&](int64_t groupsAtOnce) {
      Layout layout{0, groupsAtOnce, ItemOrder::LongestFirst, Start::Last};
      return runWithoutWaiting(makePlan(layout), cost, request.workers);
    };
    int64_t half = std::max<int64_t>(most / 2, 1);
    return time(half) > 1.02 * time(most) ? most : half;
  }

  /// Best guesses first: heads that leave room in L2 and heads that fill it, with walks from the
  /// end. The number of heads that run at once matters most.
  std::vector<Layout> listLayouts() {
    std::vector<Layout> layouts;
    int64_t numGroups = groups.size();
    SmallVector<int64_t> limits = {roomyDqBytes()};
    for (int64_t bytes : {request.maxDqBytes, bytesForAllWorkers()})
      if (groupsWithin(bytes) > groupsWithin(limits.back()))
        limits.push_back(bytes);
    auto add = [&](int64_t maxDqBytes, int64_t groupsAtOnce, ItemOrder itemOrder, Start start,
                   bool rotates = false) {
      Layout layout{maxDqBytes, groupsAtOnce, itemOrder, start, rotates};
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
    // If heads have few q tiles, no more workers than these should be on one head.
    SmallVector<bool> rotations = {false};
    if (request.parts < problem.groupSize())
      rotations.push_back(true);
    for (bool rotates : rotations)
      for (Start start : {Start::Last, Start::Spread})
        for (int64_t bytes : limits) {
          int64_t most = groupsWithin(bytes, rotates);
          if (hasEqualItems || rotates)
            for (int64_t size : {most, most / 2, most / 4})
              if (size == most || (size > 1 && size < most))
                add(bytes, size, ItemOrder::Interleaved, start, rotates);
          if (rotates && most == numGroups && request.copies == 1)
            add(bytes, most, ItemOrder::Packed, start, rotates);
        }
    // All parts of a kv tile that begin together end together, and wait for each other.
    if (request.parts > 1)
      for (Start start : {Start::Last, Start::Spread})
        for (int64_t bytes : limits) {
          int64_t most = groupsWithin(bytes);
          for (int64_t size : {most, most / 2})
            if (size > 1)
              add(bytes, size, ItemOrder::Checkered, start);
        }
    return layouts;
  }

  /// Simulates a layout, which must beat the others by `handicap`; true if the search can stop.
  bool isContentWith(const Layout &layout, double handicap) {
    Plan plan = makePlan(layout);
    Dispatch dispatch = makeDispatch(layout);
    dispatch.limit = limit / handicap;
    bool isBetter = succeeded(runListScheduler(repeated, plan, cost, dispatch, found));
    noteProgress([&] {
      return llvm::formatv("simulated a layout of {0} tasks", problem.numTasks() * request.copies)
          .str();
    });
    if (!isBetter)
      return false;
    if (request.copies > 1)
      takeMiddle(found);
    limit = judge(found) * handicap;
    simulated += problem.numTasks() * request.copies;
    return found.makespan <= least * (simulated < searchBudget ? goodEnough : soonEnough);
  }

  /// Estimates the time of a run, wherever its walks begin.
  double estimate(Layout layout) {
    layout.start = Start::Last;
    auto [known, isNew] = estimates.try_emplace(layout.key());
    if (isNew)
      known->second =
          handicapOf(layout) * estimateRun(repeated, makePlan(layout), cost, makeDispatch(layout));
    return known->second;
  }

  /// The least estimate goes first. Among the others, those near to it stay in the order of
  /// guesses.
  void sortByEstimates(std::vector<Layout> &layouts) {
    std::vector<std::pair<double, size_t>> order;
    for (auto [index, layout] : llvm::enumerate(layouts))
      order.emplace_back(estimate(layout), index);
    double least = llvm::min_element(order)->first;
    size_t first =
        llvm::find_if(order, [&](auto &guess) { return guess.first <= least * sureOf; })->second;
    for (auto &[time, index] : order)
      time = index == first ? 0 : std::max(time, least * nearOf);
    llvm::sort(order);
    std::vector<Layout> sorted;
    for (auto [time, index] : order)
      sorted.push_back(layouts[index]);
    layouts = std::move(sorted);
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
    plan.rotates = layout.rotates;
    plan.pieces = numPieces(problem, request.parts, request.cost);
    plan.apart = request.apart;
    for (const Group &group : groups)
      plan.groupDqBytes.push_back(dqBytesOf(shapes[shapeOf[group.sequence]], layout.rotates));
    ArrayRef<Walks> walks = walksFrom(layout.start);
    plan.items.reserve(numItems(problem, request.parts));
    // As many groups to a window as allowed, as evenly as possible.
    int64_t numGroups = groups.size();
    int64_t numWindows = llvm::divideCeil(numGroups, layout.groupsAtOnce);
    for (int64_t window : llvm::seq(numWindows)) {
      int64_t begin = window * numGroups / numWindows, end = (window + 1) * numGroups / numWindows;
      addItems(plan, begin, end, walks, layout.itemOrder);
    }
    if (layout.itemOrder == ItemOrder::Packed)
      pack(plan);
    if (request.copies > 1)
      repeat(plan);
    return plan;
  }

  /// Adds the items of some groups in the requested order.
  void addItems(Plan &plan, int64_t begin, int64_t end, ArrayRef<Walks> walks,
                ItemOrder order) const {
    // Field of the board, length, and the tie-break.
    std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t>> keys;
    for (int64_t group : llvm::seq(begin, end)) {
      const Walks &walk = walks[shapeOf[groups[group].sequence]];
      for (int64_t kv : llvm::seq(problem.numKvTiles(groups[group].sequence))) {
        int64_t length = order == ItemOrder::ByKv ? 0 : walk(kv, groups[group].part).size();
        int64_t field = order == ItemOrder::Checkered ? (group + kv) % 2 : 0;
        if (order == ItemOrder::Interleaved)
          keys.emplace_back(field, -length, kv, group);
        else
          keys.emplace_back(field, -length, group, kv);
      }
    }
    llvm::sort(keys);
    for (auto [field, length, group, kv] : keys) {
      if (order == ItemOrder::Interleaved)
        std::swap(group, kv);
      addItem(plan, group, kv, walks[shapeOf[groups[group].sequence]]);
    }
  }

  void addItem(Plan &plan, int64_t index, int64_t kv, const Walks &walks) const {
    const Group &group = groups[index];
    PlannedItem &planned = plan.items.emplace_back();
    planned.group = index;
    planned.item.sequence = group.sequence;
    planned.item.head = group.kvHead;
    planned.item.part = group.part;
    planned.item.tile = kv;
    planned.firstHead = cut.firstHead(group.kvHead, group.part);
    planned.tiles = walks(kv, group.part);
  }

  /// Makes a group of each worker's items, for lanes of one worker.
  void pack(Plan &plan) const {
    // Counted in steps of one task of each of an item's heads; for long lists, whole steps are fine
    // enough.
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

  /// Repeats the plan for each copy, with its own sequences and groups.
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

  const LayoutRequest &request;
  const Problem &problem;
  llvm::function_ref<double(ListSchedule &)> judge;
  const PartCut cut{problem, request.parts};
  const double least = leastMakespan(request);
  const Cost cost = withSlowHops(request.cost);
  Problem repeated; ///< once for each copy
  std::vector<Shape> shapes;
  std::vector<int32_t> shapeOf; ///< for each sequence
  std::vector<Group> groups;
  bool hasEqualItems = false; ///< a group has two items with as many tasks
  std::array<std::vector<Walks>, 3> walksByStart;
  std::map<std::tuple<int64_t, int64_t, ItemOrder, Start, bool>, double> estimates;
  ListSchedule found;
  double limit = std::numeric_limits<double>::infinity();
  int64_t simulated = 0;
};

} // namespace

Cost dash::withSlowHops(Cost cost) {
  cost.latency += slowHop * cost.compute;
  return cost;
}

void dash::searchLayouts(const LayoutRequest &request,
                         llvm::function_ref<double(ListSchedule &)> judge) {
  LayoutSearch(request, judge).run();
}
