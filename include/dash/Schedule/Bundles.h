//===- Bundles.h - one order for many heads --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_BUNDLES_H
#define DASH_SCHEDULE_BUNDLES_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// Tasks of the largest problem that is ordered as a whole at level run. A count instead of a time,
/// so that orders are the same everywhere.
constexpr int64_t mostTasksTogether = fewestSharedTasks;
/// Items, likewise, where each has few tasks.
constexpr int64_t mostItemsTogether = int64_t(1) << 19;
/// Tasks of the largest kv head that is searched for, with larger q tiles beyond the number above.
constexpr int64_t mostTasksOfKvHead = int64_t(9) << 20;

/// A larger problem in bundles of kv heads, one behind the other. Heads of equal sequences are
/// alike and add to no common sum, so the order of one bundle serves all of its size. The workers
/// of a bundle change places: the one that is free first takes the longest list of the next bundle.
///
/// The order makes progress if that of a bundle does. Within a list, bundles keep their order, and
/// a task waits only for tasks of its own bundle and of bundles before it.
class Bundles {
public:
  /// Empty if the problem is not ordered in bundles: it has at most `mostTasks` tasks and
  /// `mostItemsTogether` items, or kv heads that have too many, or its order depends on less than
  /// the whole (from level batch on). Bundles of more than one kv head have at most as many.
  static std::optional<Bundles> of(const ScheduleHeader &header,
                                   int64_t mostTasks = mostTasksTogether);

  int64_t count() const { return numBundles; }
  /// The different numbers of kv heads that bundles have: one, or two numbers side by side, the
  /// larger one first.
  SmallVector<int64_t, 2> sizes() const;
  /// The problem of a bundle with this many kv heads.
  ScheduleHeader headerOf(int64_t size) const;

  /// The items of the whole order, bundle after bundle, from orders of bundles with the numbers of
  /// kv heads that `sizes` names.
  struct Items {
    std::vector<Item> items;
    /// For each item: the order that it comes from, and its index there.
    std::vector<std::pair<int32_t, int32_t>> sources;
    double makespan = 0; ///< an estimate, without another simulation
  };
  Items deal(ArrayRef<const Table *> orders, ArrayRef<double> makespans) const;

  /// The same order, written out. Precondition: a table can hold its tasks.
  Table writeOut(ArrayRef<const Table *> orders, const Items &dealt) const;
  /// The same order as kernels read it.
  std::vector<int32_t> encode(ArrayRef<const Table *> orders, const Items &dealt) const;

private:
  Bundles(const ScheduleHeader &header, int64_t numGroups, int64_t numBundles)
      : header(header), numGroups(numGroups), numBundles(numBundles) {}
  /// The first (sequence, kv head) pair of a bundle.
  int64_t firstGroup(int64_t bundle) const { return bundle * numGroups / numBundles; }

  ScheduleHeader header;
  int64_t numGroups, numBundles;
};

} // namespace mlir::dash

#endif // DASH_SCHEDULE_BUNDLES_H
