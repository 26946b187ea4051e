//===- ProvenOrder.h - a schedule and its proof ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_PROVENORDER_H
#define DASH_SCHEDULE_PROVENORDER_H

#include "dash/Schedule/Verify.h"

namespace mlir::dash {

/// A schedule and its proof.
struct ProvenOrder {
  Schedule schedule;
  ScheduleFacts facts;
};

/// Proves the result of a builder or a file, if there is one.
FailureOr<ProvenOrder> prove(FailureOr<Schedule> schedule, EmitError emitError);

/// A built order as a table. That of a kind whose items come by length deals them again, if that
/// takes less.
FailureOr<ProvenOrder> asTable(ProvenOrder order, EmitError emitError);

/// Fails if nothing can be kept apart as the header says.
LogicalResult verifyApart(const ScheduleHeader &header, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PROVENORDER_H
