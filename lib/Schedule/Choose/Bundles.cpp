//===- Bundles.cpp - one order for many heads -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Bundles.h"
#include "Replay/Clock.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

std::optional<Bundles> Bundles::of(const ScheduleHeader &header, int64_t mostTasks) {
  const Problem &problem = header.problem;
  if (header.level != DeterminismLevel::Run || !problem.hasChains() ||
      !llvm::all_equal(problem.sequences))
    return std::nullopt;
  int64_t numGroups = problem.numSequences() * problem.kvHeads;
  int64_t tasksOfGroup = problem.numTasksPerHead(0) * problem.groupSize();
  int64_t itemsOfGroup = problem.numKvTiles(0) * std::max<int64_t>(header.parts, 1);
  bool areFew =
      tasksOfGroup * numGroups <= mostTasks && itemsOfGroup * numGroups <= mostItemsTogether;
  bool areTooMany = tasksOfGroup > (problem.mask.isBand() ? mostTasksOfKvHead : mostTasks) ||
                    itemsOfGroup > mostItemsTogether;
  if (numGroups == 1 || areFew || areTooMany)
    return std::nullopt;
  int64_t together = std::max<int64_t>(
      std::min(mostTasks / std::max<int64_t>(tasksOfGroup, 1), mostItemsTogether / itemsOfGroup),
      1);
  // Equal bundles need one order. Even numbers of heads often have a better one, too.
  int64_t fewest = llvm::divideCeil(numGroups, together);
  for (int64_t count : llvm::seq_inclusive(fewest, std::min(2 * fewest, numGroups)))
    if (numGroups % count == 0)
      return Bundles(header, numGroups, count);
  return Bundles(header, numGroups, fewest);
}

SmallVector<int64_t, 2> Bundles::sizes() const {
  int64_t smaller = numGroups / numBundles;
  if (numGroups % numBundles == 0)
    return {smaller};
  return {smaller + 1, smaller};
}

ScheduleHeader Bundles::headerOf(int64_t size) const {
  ScheduleHeader one = header;
  one.problem.sequences.resize(1);
  one.problem.kvHeads = size;
  one.problem.heads = size * header.problem.groupSize();
  return one;
}

/// The time of each worker's list if it waits for nothing.
static std::vector<double> timesOfLists(const ScheduleHeader &header, const Table &order) {
  std::vector<std::pair<int64_t, int64_t>> lists(header.workers); // tasks, items that have tasks
  for (auto [index, item] : llvm::enumerate(order.items)) {
    int64_t tasks = order.visitsOf(index).size();
    lists[item.worker].first += tasks;
    lists[item.worker].second += tasks > 0;
  }
  int64_t pieces = numPieces(header.problem, header.parts, header.cost);
  std::vector<double> times;
  for (auto [tasks, items] : lists)
    times.push_back(timeWithoutWaiting(header.cost, pieces, tasks, items));
  return times;
}

Bundles::Items Bundles::deal(ArrayRef<const Table *> orders, ArrayRef<double> makespans) const {
  SmallVector<int64_t, 2> known = sizes();
  struct Lists {
    std::vector<double> times;
    SmallVector<int32_t, 0> longestFirst;
  };
  SmallVector<Lists, 2> lists;
  for (auto [order, makespan] : llvm::zip_equal(orders, makespans)) {
    Lists &mine = lists.emplace_back();
    mine.times = timesOfLists(header, *order);
    // Waits are shared out over the list.
    double longest = *llvm::max_element(mine.times);
    for (double &time : mine.times)
      time *= longest > 0 ? makespan / longest : 0;
    mine.longestFirst = llvm::to_vector<0>(llvm::seq<int32_t>(header.workers));
    llvm::sort(mine.longestFirst, [&](int32_t a, int32_t b) {
      return std::pair(-mine.times[a], a) < std::pair(-mine.times[b], b);
    });
  }

  Items dealt;
  std::vector<double> busy(header.workers);
  auto firstFree = llvm::to_vector(llvm::seq<int32_t>(header.workers));
  std::vector<int32_t> workerOf(header.workers);
  for (int64_t bundle : llvm::seq(numBundles)) {
    int64_t first = firstGroup(bundle), size = firstGroup(bundle + 1) - first;
    int32_t which = llvm::find(known, size) - known.begin();
    llvm::sort(firstFree,
               [&](int32_t a, int32_t b) { return std::pair(busy[a], a) < std::pair(busy[b], b); });
    for (auto [list, worker] : llvm::zip_equal(lists[which].longestFirst, firstFree)) {
      workerOf[list] = worker;
      busy[worker] += lists[which].times[list];
    }
    for (auto [index, item] : llvm::enumerate(orders[which]->items)) {
      Item &copy = dealt.items.emplace_back(item);
      copy.worker = workerOf[item.worker];
      copy.sequence = (first + item.head) / header.problem.kvHeads;
      copy.head = (first + item.head) % header.problem.kvHeads;
      dealt.sources.emplace_back(which, index);
    }
  }
  dealt.makespan = *llvm::max_element(busy);
  return dealt;
}

Table Bundles::writeOut(ArrayRef<const Table *> orders, const Items &dealt) const {
  Table table;
  table.items = dealt.items;
  table.visits.reserve(header.problem.numTasks());
  int64_t group = header.problem.groupSize();
  for (auto [item, source] : llvm::zip_equal(dealt.items, dealt.sources)) {
    const Table &order = *orders[source.first];
    int32_t shift = (item.head - order.items[source.second].head) * group;
    for (Visit visit : order.visitsOf(source.second)) {
      visit.head += shift;
      table.visits.push_back(visit);
    }
    table.begin.push_back(table.visits.size());
  }
  return table;
}

std::vector<int32_t> Bundles::encode(ArrayRef<const Table *> orders, const Items &dealt) const {
  PartCut cut = header.cut();
  auto visitsOf = [&](int64_t index) {
    auto [which, source] = dealt.sources[index];
    const Item &item = orders[which]->items[source];
    return ItemVisits{orders[which]->visitsOf(source), cut.firstHead(item.head, item.part)};
  };
  return encodeOrder(header.problem, header.parts, header.workers, dealt.items, visitsOf);
}
