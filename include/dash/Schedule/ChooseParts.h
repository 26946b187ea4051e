//===- ChooseParts.h - how many parts, and what is kept apart -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_CHOOSEPARTS_H
#define DASH_SCHEDULE_CHOOSEPARTS_H

#include "dash/Schedule/ProvenOrder.h"

namespace mlir::dash {

/// The numbers of parts that a kind takes the best of, least first: those that divide the query heads of a kv head and, at level
/// run, multiples of them while there are few items for each worker.
SmallVector<int64_t> partsToTry(const ScheduleHeader &header);

/// Fails unless the tasks of a kv tile can be cut into so many parts, none of which is empty everywhere.
LogicalResult verifyParts(const Problem &problem, int64_t parts, EmitError emitError);

/// What rounding the sums of dK and dV, and reading contributions that are kept apart, takes behind an order: the blocks that all
/// workers then have beside those that they have of any order.
double roundingTime(const ScheduleHeader &header);

/// What an order of such a makespan is worth beside others: its time with what comes behind it. More parts than one, and what is
/// kept apart, also take memory, for each of which they have to be faster by a hundredth.
double priceOf(const ScheduleHeader &header, double makespan);

/// What may be kept apart in the header's parts without being asked for: what takes no more than 256 MiB.
SmallVector<Apart, 3> apartToTry(ScheduleHeader header);

/// Keeps of an order that is there apart what takes least.
void chooseApart(ProvenOrder &proven);

/// The schedule of least price in what is left open: in the number of parts where that is 0, and in what is kept apart where the header
/// chooses. From level batch on the number is asked of each sequence by
/// itself, from machine on of one of its kv heads; fails with a message where lengths disagree.
FailureOr<ProvenOrder> buildBest(ScheduleHeader header, MLIRContext *context, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_CHOOSEPARTS_H
