//===- OrderTable.h - the order of a module for its kernel ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_ORDERTABLE_H
#define DASH_ENTRIES_ORDERTABLE_H

#include "dash/IR/DashOps.h"
#include "dash/IR/OrderBuffer.h"

namespace mlir::dash {

/// The buffer of a proven order that is a table, for a batch or for a list. Fails with a message if
/// 32-bit words cannot count it, or if the table cannot have been proven.
FailureOr<std::vector<int32_t>> encodeOrder(ScheduleOp schedule, bool isList,
                                            function_ref<InFlightDiagnostic()> emitError);

/// Whether a worker may wait for another: two workers add to one sum, in turns. Formulas serve all
/// sizes, so theirs may. Contributions that are kept apart never wait. A table must be one that
/// `encodeOrder` accepts.
bool mayWait(ScheduleOp schedule, Apart apart);

} // namespace mlir::dash

#endif // DASH_ENTRIES_ORDERTABLE_H
