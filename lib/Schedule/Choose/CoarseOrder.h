//===- CoarseOrder.h - search with larger q tiles ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_CHOOSE_COARSEORDER_H
#define DASH_LIB_SCHEDULE_CHOOSE_COARSEORDER_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// A problem whose q tiles are runs of `factor` tiles of another one. Its tasks cost as much as the
/// runs.
class CoarseProblem {
public:
  CoarseProblem(const ScheduleHeader &fine, int64_t factor);

  const ScheduleHeader &getHeader() const { return coarse; }
  /// The order of the fine problem in which workers walk each run tile after tile. It makes
  /// progress if the coarse order does: whatever a task waits for belongs to a coarse task that
  /// its own waits for, or to its own. Precondition: a band, and at most one part for each head.
  Table refine(const Table &order) const;

private:
  const ScheduleHeader &fine;
  ScheduleHeader coarse;
  int64_t factor;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_CHOOSE_COARSEORDER_H
