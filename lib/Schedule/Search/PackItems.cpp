//===- PackItems.cpp - deal items to lists of equal length ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Best fit needs the list with the least room that is enough. Lists with equal room form a stack,
// and a tree of bits finds stacks, so an item costs a few steps however many lists there are. Items
// without tasks are dealt separately, at the end.
//
//===----------------------------------------------------------------------===//

#include "PackItems.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

using namespace mlir;
using namespace mlir::dash;

namespace {

/// A set of numbers below `size` that finds the next larger member quickly.
class NumberSet {
public:
  explicit NumberSet(int64_t size) {
    do {
      size = llvm::divideCeil(size, 64);
      levels.emplace_back(size);
    } while (size > 1);
  }
  void insert(int64_t number) {
    for (auto &level : levels) {
      level[number / 64] |= uint64_t(1) << (number % 64);
      number /= 64;
    }
  }
  void erase(int64_t number) {
    for (auto &level : levels) {
      level[number / 64] &= ~(uint64_t(1) << (number % 64));
      if (level[number / 64] != 0)
        return;
      number /= 64;
    }
  }
  /// The least member from `number` on, or -1.
  int64_t findFrom(int64_t number) const {
    for (size_t depth = 0; depth < levels.size(); ++depth, number = number / 64 + 1) {
      if (number / 64 >= int64_t(levels[depth].size()))
        return -1;
      uint64_t bits = levels[depth][number / 64] >> (number % 64);
      if (bits == 0)
        continue;
      number += llvm::countr_zero(bits);
      while (depth > 0) {
        --depth;
        number = number * 64 + llvm::countr_zero(levels[depth][number]);
      }
      return number;
    }
    return -1;
  }

private:
  /// a bit says whether the 64 bits below it have a member
  std::vector<std::vector<uint64_t>> levels;
};

/// Lists by the room they have left.
class Rooms {
public:
  Rooms(int64_t capacity, int64_t workers)
      : rooms(capacity + 1), top(capacity + 1, -1), below(workers) {
    for (int64_t worker = workers; worker-- > 0;)
      push(capacity, worker);
  }
  /// Puts an item where it fits best; -1 if it fits nowhere.
  int32_t place(int64_t length) {
    int64_t room = rooms.findFrom(length);
    if (room < 0)
      return -1;
    int32_t worker = top[room];
    top[room] = below[worker];
    if (top[room] < 0)
      rooms.erase(room);
    push(room - length, worker);
    return worker;
  }

private:
  void push(int64_t room, int32_t worker) {
    if (top[room] < 0)
      rooms.insert(room);
    below[worker] = top[room];
    top[room] = worker;
  }

  NumberSet rooms;
  std::vector<int32_t> top, below;
};

} // namespace

std::vector<int32_t> dash::packItems(llvm::ArrayRef<int64_t> lengths, int64_t workers) {
  std::vector<int32_t> lists(lengths.size());
  auto packs = [&](int64_t capacity) {
    Rooms rooms(capacity, workers);
    for (size_t i = 0; i < lengths.size(); ++i)
      if ((lists[i] = rooms.place(lengths[i])) < 0)
        return false;
    return true;
  };
  int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  int64_t low =
      std::max<int64_t>(llvm::divideCeil(total, workers), lengths.empty() ? 0 : lengths.front());
  int64_t high = std::max<int64_t>(2 * low, 1); // large enough for any lengths
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
/// Workers by the time at which they are free; of equal ones the first.
class FreeWorkers {
public:
  explicit FreeWorkers(ArrayRef<double> times) {
    for (auto [worker, time] : llvm::enumerate(times))
      queue.emplace(time, worker);
  }

  /// The worker that is free first, which is busy for `time` from then on.
  int32_t take(double time) {
    auto [start, worker] = queue.top();
    queue.pop();
    queue.emplace(start + time, worker);
    return worker;
  }

private:
  using Entry = std::pair<double, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
};
} // namespace

void dash::dealEmptyItems(Table &table, const Cost &cost, int64_t workers) {
  std::vector<Item> items, empty;
  std::vector<int64_t> begin = {0};
  std::vector<double> times(workers);
  for (auto [index, item] : llvm::enumerate(table.items)) {
    int64_t tasks = table.begin[index + 1] - table.begin[index];
    if (tasks == 0) {
      empty.push_back(item);
      continue;
    }
    items.push_back(item);
    begin.push_back(table.begin[index + 1]);
    times[item.worker] += tasks * cost.compute + cost.boundary;
  }
  if (empty.empty())
    return;
  FreeWorkers free(times);
  for (Item &item : empty) {
    item.worker = free.take(cost.boundary + cost.compute);
    items.push_back(item);
    begin.push_back(table.visits.size());
  }
  table.items = std::move(items);
  table.begin = std::move(begin);
}

void dash::dealToFirstFree(Table &table, const Cost &cost, int64_t workers) {
  std::vector<double> idle(workers);
  FreeWorkers free(idle);
  for (auto [index, item] : llvm::enumerate(table.items)) {
    int64_t tasks = table.begin[index + 1] - table.begin[index];
    item.worker = free.take(tasks * cost.compute + cost.boundary);
  }
}
