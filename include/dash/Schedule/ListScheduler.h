//===- ListScheduler.h - find an order by simulating it --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_LISTSCHEDULER_H
#define DASH_SCHEDULE_LISTSCHEDULER_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// An item that waits for a worker. Its walk belongs to whoever makes the plan: many items share one.
struct PlannedItem {
  Item item; ///< the worker, and where visits are chosen the part turn, are given by the simulation
  int32_t group = 0;
  int32_t firstHead = 0;   ///< added to the heads of the walk
  ArrayRef<int32_t> tiles; ///< where visits are chosen: each head's q tiles, in preferred order
  ArrayRef<Visit> visits;  ///< where they are frozen: all of them, with their turns
};

/// Items in issue order, in groups that open dQ together.
struct Plan {
  std::vector<PlannedItem> items;
  std::vector<int64_t> groupDqBytes; ///< f32 dQ in flight while a group is unfinished
  int64_t headsPerItem = 1;          ///< where visits are chosen
  bool rotates = false;              ///< likewise: items begin with a head each, by their kv tiles
  int64_t pieces = 0;                ///< of an item's sums, where it is a part (numPieces)
  Apart apart = Apart::None;         ///< what waits for no turn
};

/// How free workers come by items.
struct Dispatch {
  int64_t workers = 1;
  /// Workers are dealt to lanes; a lane takes a whole group at a time. With one lane every worker
  /// takes the next item, whichever group it is of.
  int64_t lanes = 1;
  /// A group whose dQ would bring more in flight waits for others to finish; 0 is no limit. One
  /// group always runs. Counts with one lane.
  int64_t maxDqBytes = 0;
  /// Whether walks choose, at each step, a q tile to which nobody is adding, and arrival fixes all
  /// turns. Otherwise visits and turns are taken as they are.
  bool choosesVisits = true;
  /// A run is given up as soon as it cannot end before this.
  double limit = std::numeric_limits<double>::infinity();
};

/// What happened: lists, visits, turns.
struct ListSchedule {
  Table table;
  double makespan = 0;
};

/// Runs a plan under the cost model: items are issued in order, each to the worker that is free
/// first. Fails where it was given up. Frozen, the order of events has no cycle: along lists and
/// along chains it only goes on. Nor has it with other lists, if items are issued in the same order
/// to at least as many workers: of the tasks that have not run, the one that ran first here has all
/// its predecessors behind it, and its item has been issued, since fewer items than workers were
/// unfinished before it.
LogicalResult runListScheduler(const Problem &problem, Plan &plan, const Cost &cost,
                               const Dispatch &dispatch, ListSchedule &result);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_LISTSCHEDULER_H
