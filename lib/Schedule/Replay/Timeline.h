//===- Timeline.h - all tasks of a predicted run ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_REPLAY_TIMELINE_H
#define DASH_LIB_SCHEDULE_REPLAY_TIMELINE_H

#include "dash/Schedule/Cost.h"

namespace mlir::dash {

/// All tasks with their times, and the predecessor that determines each. Reports that draw each
/// task use it.
class Timeline {
public:
  explicit Timeline(const Schedule &schedule);

  /// One stretch of the critical path.
  struct Stretch {
    int64_t task;
    bool isCompute;
  };
  /// From the task that ends last back to one that waited for nothing.
  std::vector<Stretch> criticalPath() const;

  /// The previous turn of the task's chain, or -1.
  int64_t chainPredecessor(int64_t task) const { return predecessors[task]; }
  /// The task whose reduction frees the buffer that the task computes into, or -1.
  int64_t bufferPredecessor(int64_t task) const;

  std::vector<TimedTask> tasks;
  std::vector<std::vector<int32_t>> byWorker; ///< each worker's tasks, in its order

private:
  int64_t buffers, pieces;
  std::vector<int32_t> predecessors;
  int64_t last = -1;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPLAY_TIMELINE_H
