//===- LayoutSearch.cpp - try layouts of a problem ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/LayoutSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <limits>
#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::dash;

/// Tasks that a search may simulate, over all layouts: about a second's worth.
static constexpr int64_t simulationBudget = int64_t(1) << 23;
static constexpr int64_t fewestLayouts = 3;

/// Deals items, longest first, to at most `workers` lists of nearly equal lengths: the shortest length
/// to which best fit packs them, found by bisection (MULTIFIT; Coffman, Garey, Johnson 1978).
static std::vector<int32_t> packItems(ArrayRef<int64_t> lengths, int64_t workers) {
  std::vector<int32_t> lists(lengths.size());
  auto packs = [&](int64_t capacity) {
    std::set<std::pair<int64_t, int32_t>> rooms; // what is left of a list
    for (int32_t worker : llvm::seq<int32_t>(workers))
      rooms.emplace(capacity, worker);
    for (auto [index, length] : llvm::enumerate(lengths)) {
      auto room = rooms.lower_bound({length, 0});
      if (room == rooms.end())
        return false;
      auto [left, worker] = *room;
      lists[index] = worker;
      rooms.erase(room);
      rooms.emplace(left - length, worker);
    }
    return true;
  };
  int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  int64_t low =
      std::max<int64_t>(llvm::divideCeil(total, workers), lengths.empty() ? 0 : lengths.front());
  int64_t high = std::max<int64_t>(2 * low, 1);
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (packs(middle))
      high = middle;
    else
      low = middle + 1;
  }
  packs(high);
  return lists;
}

namespace {

enum class ItemOrder {
  LongestFirst, ///< each to the worker that is free first
  ByKv,         ///< likewise, as they come
  Packed        ///< to lists of nearly equal lengths, made beforehand
};
enum class Start { Spread, First, Last };

struct Layout {
  int64_t groupsAtOnce;
  ItemOrder itemOrder;
  Start start;
};

/// One (sequence, kv head, part).
struct Group {
  int32_t sequence, kvHead, part;
  int64_t tasks;

  auto key() const { return std::tuple(-tasks, sequence, kvHead, part); }
};

/// Shows how far a long search is, on a terminal.
class Progress {
public:
  explicit Progress(size_t size) : size(size) {}
  ~Progress() {
    if (isShown)
      llvm::errs() << "\r\033[K";
  }
  void tell(size_t done) {
    using namespace std::chrono;
    if (!llvm::errs().is_displayed() || steady_clock::now() - begin < seconds(2))
      return;
    isShown = true;
    llvm::errs() << "\rsynthesizing an order: " << done << " of " << size << " layouts";
  }

private:
  size_t size;
  bool isShown = false;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

class LayoutSearch {
public:
  explicit LayoutSearch(const LayoutRequest &request)
      : request(request), problem(request.problem),
        headsPerPart(problem.groupSize() / request.parts) {
    for (int32_t s : llvm::seq<int32_t>(problem.numSequences()))
      for (int32_t kvHead : llvm::seq<int32_t>(problem.kvHeads))
        for (int32_t part : llvm::seq<int32_t>(request.parts))
          groups.push_back({s, kvHead, part, problem.numTasksPerHead(s)});
    // Long sequences first: short ones fill the gaps at the end.
    llvm::sort(groups, [](const Group &a, const Group &b) { return a.key() < b.key(); });
  }

  Table run(llvm::function_ref<double(const ListSchedule &)> judge) {
    std::vector<Layout> layouts = listLayouts();
    Progress progress(layouts.size());
    Dispatch dispatch;
    dispatch.workers = request.workers;
    dispatch.maxDqBytes = request.maxDqBytes;
    Problem repeated = problem;
    for (int64_t copy = 1; copy < request.copies; ++copy)
      llvm::append_range(repeated.sequences, problem.sequences);
    Table best;
    double least = std::numeric_limits<double>::infinity();
    for (auto [index, layout] : llvm::enumerate(layouts)) {
      progress.tell(index);
      dispatch.lanes = layout.itemOrder == ItemOrder::Packed ? request.workers : 1;
      ListSchedule run =
          takeMiddle(runListScheduler(repeated, repeat(makePlan(layout)), request.cost, dispatch));
      if (double price = judge(run); price < least) {
        least = price;
        best = std::move(run.table);
      }
    }
    return best;
  }

private:
  /// Best guesses first.
  std::vector<Layout> listLayouts() const {
    int64_t largest = 1, numGroups = groups.size();
    for (int64_t s : llvm::seq(problem.numSequences()))
      largest = std::max(largest, dqBytesOfGroup(problem, request.parts, s));
    int64_t most = request.maxDqBytes > 0
                       ? std::clamp<int64_t>(request.maxDqBytes / largest, 1, numGroups)
                       : numGroups;
    std::vector<int64_t> sizes = {most};
    for (int64_t size : {most / 2, most / 4, int64_t(3), int64_t(2)})
      if (size > 1 && size < most && !llvm::is_contained(sizes, size))
        sizes.push_back(size);
    std::vector<Layout> layouts;
    for (Start start : {Start::Spread, Start::Last, Start::First}) {
      for (int64_t size : sizes)
        layouts.push_back({size, ItemOrder::LongestFirst, start});
      layouts.push_back({1, ItemOrder::ByKv, start});
      if (most == numGroups && request.copies == 1)
        layouts.push_back({most, ItemOrder::Packed, start});
    }
    int64_t tasks = std::max<int64_t>(1, problem.numTasks() * request.copies);
    int64_t affordable = std::max(fewestLayouts, simulationBudget / tasks);
    if (affordable < int64_t(layouts.size()))
      layouts.resize(affordable);
    return layouts;
  }

  Plan makePlan(const Layout &layout) const {
    Plan plan;
    // As many groups to a window as allowed, as even as possible.
    int64_t numGroups = groups.size();
    int64_t numWindows = llvm::divideCeil(numGroups, layout.groupsAtOnce);
    for (int64_t window : llvm::seq(numWindows)) {
      int64_t begin = window * numGroups / numWindows, end = (window + 1) * numGroups / numWindows;
      size_t firstItem = plan.items.size();
      for (int64_t g : llvm::seq(begin, end))
        addGroup(plan, g, layout.start);
      auto key = [](const PlannedItem &planned) {
        return std::tuple(-int64_t(planned.visits.size()), planned.group, planned.item.kv);
      };
      if (layout.itemOrder != ItemOrder::ByKv)
        llvm::sort(llvm::drop_begin(plan.items, firstItem),
                   [&](auto &a, auto &b) { return key(a) < key(b); });
    }
    if (layout.itemOrder == ItemOrder::Packed)
      pack(plan);
    return plan;
  }

  /// Makes a group of each worker's items, for lanes of one worker.
  void pack(Plan &plan) const {
    std::vector<int64_t> lengths;
    for (const PlannedItem &planned : plan.items)
      lengths.push_back(planned.visits.size());
    for (auto [planned, list] : llvm::zip_equal(plan.items, packItems(lengths, request.workers)))
      planned.group = list;
    plan.groupDqBytes.assign(request.workers, 0);
  }

  /// The plan once for each copy, with its own sequences and groups.
  Plan repeat(Plan once) const {
    Plan plan = once;
    for (int64_t copy = 1; copy < request.copies; ++copy) {
      llvm::append_range(plan.groupDqBytes, once.groupDqBytes);
      for (PlannedItem planned : once.items) {
        planned.item.sequence += copy * problem.numSequences();
        planned.group += copy * once.groupDqBytes.size();
        plan.items.push_back(std::move(planned));
      }
    }
    return plan;
  }

  ListSchedule takeMiddle(ListSchedule run) const {
    if (request.copies == 1)
      return run;
    int32_t first = request.copies / 2 * problem.numSequences();
    ListSchedule middle;
    middle.makespan = run.makespan;
    for (auto [index, item] : llvm::enumerate(run.table.items)) {
      if (item.sequence < first || item.sequence >= first + problem.numSequences())
        continue;
      middle.table.items.push_back(item);
      middle.table.items.back().sequence -= first;
      llvm::append_range(middle.table.visits, run.table.visitsOf(index));
      middle.table.begin.push_back(middle.table.visits.size());
    }
    return middle;
  }

  void addGroup(Plan &plan, int64_t index, Start start) const {
    const Group &group = groups[index];
    plan.groupDqBytes.push_back(dqBytesOfGroup(problem, request.parts, group.sequence));
    for (int64_t kv : llvm::seq(problem.numKvTiles(group.sequence))) {
      PlannedItem planned;
      planned.group = index;
      planned.item.sequence = group.sequence;
      planned.item.kvHead = group.kvHead;
      planned.item.part = group.part;
      planned.item.kv = kv;
      planned.visits = planWalk(planned.item, start);
      plan.items.push_back(std::move(planned));
    }
  }

  /// The walk of an item, head after head, as it would go if nobody were in its way. Spread walks
  /// start evenly over their tiles, as those of `shift` do.
  std::vector<Visit> planWalk(const Item &item, Start start) const {
    SmallVector<int64_t> active = llvm::to_vector(problem.activeQ(item.sequence, item.kv).tiles());
    int64_t n = active.size();
    int64_t places = std::min(problem.numKvTiles(item.sequence), request.workers);
    int64_t first = start == Start::Spread ? item.kv % places * n / places : 0;
    int64_t firstHead = item.kvHead * problem.groupSize() + item.part * headsPerPart;
    std::vector<Visit> visits;
    visits.reserve(n * headsPerPart);
    for (int64_t head : llvm::seq(firstHead, firstHead + headsPerPart))
      for (int64_t i : llvm::seq(n)) {
        int64_t q = active[start == Start::Last ? n - 1 - i : (first + i) % n];
        visits.push_back({int32_t(head), int32_t(q), /*turn=*/0});
      }
    return visits;
  }

  const LayoutRequest &request;
  const Problem &problem;
  int64_t headsPerPart;
  std::vector<Group> groups;
};

} // namespace

int64_t dash::dqBytesOfGroup(const Problem &problem, int64_t parts, int64_t sequence) {
  // Items walk head after head: no more than two are in flight for long.
  int64_t heads = std::min<int64_t>(problem.groupSize() / parts, 2);
  return heads * problem.sequences[sequence].q * problem.headDim * int64_t(sizeof(float));
}

Table dash::searchLayouts(const LayoutRequest &request,
                          llvm::function_ref<double(const ListSchedule &)> judge) {
  return LayoutSearch(request).run(judge);
}
