//===- Verify.h - prove a schedule -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_VERIFY_H
#define DASH_SCHEDULE_VERIFY_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// Facts that the proof gives.
struct ScheduleFacts {
  /// The fewest simultaneously resident workers, started in index order, that always finish.
  int64_t minWorkers = 1;
  /// Every contribution waits only for items that come earlier in issue order, so items may be
  /// handed out at run time.
  bool dynamicIssue = true;
  /// The time that the cost model predicts: the end of the last reduction.
  double makespan = 0;
  /// The strongest level that the order keeps, whatever it claims. Known of orders without chains,
  /// whose bits follow from visits alone; of others it is the level that they claim.
  DeterminismLevel keeps = DeterminismLevel::Run;
};

/// Proves that
///  - coverage: every item, and in it every task that the mask leaves active, exists exactly once;
///  - total order: the turns of each chain are 0 … n-1, each once;
///  - progress: lists and chains together have no cycle;
///  - independence: the order depends on no more than its level allows.
/// An unordered schedule has no chains, so nothing waits, and its turns are all 0; it must not
/// claim a level. On failure, the error says which rule is broken, and where. Linear in the number
/// of tasks.
FailureOr<ScheduleFacts> verify(const Schedule &schedule, EmitError emitError);

/// The same for a search for a better order: stops once it is sure that this one takes longer than
/// `limit`. Then nothing is proven, and the makespan is infinite.
FailureOr<ScheduleFacts> verifyWithin(const Schedule &schedule, double limit, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_VERIFY_H
