//===- Explain.h - say why a schedule is wrong ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_VERIFY_EXPLAIN_H
#define DASH_LIB_SCHEDULE_VERIFY_EXPLAIN_H

#include "Replay/Replay.h"

namespace mlir::dash {

/// "item (sequence 0, kv head 1, part 0, kv tile 3)".
std::string describe(const Schedule &schedule, const Item &item);

/// Fails if a field of `item`, the one at `index` in issue order, is outside the problem.
LogicalResult verifyItemRange(const ScheduleHeader &header, const Item &item, int64_t index,
                              EmitError emitError);

/// Names the first turn that two contributions share. Succeeds if every chain has a total order.
LogicalResult explainBrokenChain(const Schedule &schedule, EmitError emitError);

/// Names workers that wait for each other. Precondition: the replay started all workers, not all
/// finished, and every chain has a total order.
LogicalResult explainCycle(const Schedule &schedule, const ReplayState &replay,
                           EmitError emitError);

/// Fails if the order depends on more than its determinism level allows.
LogicalResult verifyIndependence(const Schedule &schedule, EmitError emitError);

/// What `ScheduleFacts::keeps` is.
DeterminismLevel strongestLevel(const Schedule &schedule);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_VERIFY_EXPLAIN_H
