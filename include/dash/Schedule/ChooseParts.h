//===- ChooseParts.h - into how many parts heads are cut -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_CHOOSEPARTS_H
#define DASH_SCHEDULE_CHOOSEPARTS_H

#include "dash/Schedule/ChooseOrder.h"

namespace mlir::dash {

/// The numbers of parts that a kind takes the best of, least first: those that divide the query heads of a kv head and, at level
/// run, multiples of them while there are few items for each worker.
SmallVector<int64_t> partsToTry(const ScheduleHeader &header);

/// Fails unless the tasks of a kv tile can be cut into so many parts, none of which is empty everywhere.
LogicalResult verifyParts(const Problem &problem, int64_t parts, EmitError emitError);

/// What rounding the sums of dK and dV takes behind an order of several parts: the blocks that all workers then have beside those of dQ.
double roundingTime(const ScheduleHeader &header);

/// What an order of such a makespan is worth beside others: its time with the rounding of its sums. More parts than one also
/// take memory, for which they have to be faster by a hundredth.
double priceInParts(const ScheduleHeader &header, double makespan);

/// The schedule of a kind that looks at sizes, in the number of parts whose price is least. From level batch on that is
/// asked of each sequence by itself, from machine on of one of its kv heads; fails with a message where lengths disagree.
FailureOr<ProvenOrder> buildInParts(ScheduleHeader header, MLIRContext *context,
                                    EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_CHOOSEPARTS_H
