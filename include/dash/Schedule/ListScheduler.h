//===- ListScheduler.h - find an order by simulating it --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_LISTSCHEDULER_H
#define DASH_SCHEDULE_LISTSCHEDULER_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// An item that waits for a worker. The plan's maker owns its walk, which many items share.
struct PlannedItem {
  Item item; ///< the simulation sets the worker and, if visits are chosen, the part turn
  int32_t group = 0;
  int32_t firstHead = 0;   ///< added to the heads of the walk
  ArrayRef<int32_t> tiles; ///< if visits are chosen: each head's q tiles, in preferred order
  ArrayRef<Visit> visits;  ///< if they are frozen: all of them, with their turns
};

/// Items in issue order, in groups that open dQ together.
struct Plan {
  std::vector<PlannedItem> items;
  std::vector<int64_t> groupDqBytes; ///< f32 dQ in flight while a group is unfinished
  int64_t headsPerItem = 1;          ///< if visits are chosen
  /// likewise: items each begin with another head, by their kv tiles
  bool rotates = false;
  int64_t pieces = 0;        ///< of an item's sums, if it is a part (numPieces)
  Apart apart = Apart::None; ///< what waits for no turn
};

/// How free workers get items.
struct Dispatch {
  int64_t workers = 1;
  /// Workers are dealt to lanes; a lane takes a whole group at a time. With one lane, every worker
  /// takes the next item of any group.
  int64_t lanes = 1;
  /// A group waits for others to finish if its dQ would exceed this limit in flight; 0 is no limit.
  /// One group always runs. Used with one lane.
  int64_t maxDqBytes = 0;
  /// Whether walks choose, at each step, a q tile without a current add, and the order of arrival
  /// fixes all turns. Otherwise visits and turns are given.
  bool choosesVisits = true;
  /// A run is given up as soon as it cannot end before this.
  double limit = std::numeric_limits<double>::infinity();
};

/// The result: lists, visits, turns.
struct ListSchedule {
  Table table;
  double makespan = 0;
};

/// Runs a plan under the cost model: items are issued in order, each to the first free worker.
/// Fails if the run was given up. The frozen order of events has no cycle: it only goes forward
/// along lists and along chains. It has none with other lists either, if items are issued in the
/// same order to at least as many workers. Proof: consider, of the tasks that have not run, the one
/// that ran first here. All its predecessors have run. Its item has been issued, since fewer items
/// than workers were unfinished before it.
LogicalResult runListScheduler(const Problem &problem, Plan &plan, const Cost &cost,
                               const Dispatch &dispatch, ListSchedule &result);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_LISTSCHEDULER_H
