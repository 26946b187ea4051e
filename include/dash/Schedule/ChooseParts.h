//===- ChooseParts.h - the number of parts, and what is kept apart -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_CHOOSEPARTS_H
#define DASH_SCHEDULE_CHOOSEPARTS_H

#include "dash/Schedule/ProvenOrder.h"

namespace mlir::dash {

/// The numbers of parts to choose from, in ascending order: those that divide the query heads of a
/// kv head and, at level run, multiples of them while each worker has few items.
SmallVector<int64_t> partsToTry(const ScheduleHeader &header);

/// Fails unless the tasks of a kv tile can be cut into this many parts, none of which is always
/// empty.
LogicalResult verifyParts(const Problem &problem, int64_t parts, EmitError emitError);

/// The time after an order to round the sums of dK and dV and to read contributions that are kept
/// apart: only blocks beyond those that every order has.
double roundingTime(const ScheduleHeader &header);

/// The price of an order with this makespan: its time with everything after it. More than one part,
/// and contributions that are kept apart, also take memory. For each, the order must be 1 % faster.
double priceOf(const ScheduleHeader &header, double makespan);

/// What may be kept apart without being requested, with the header's parts: at most 256 MiB.
SmallVector<Apart, 3> apartToTry(ScheduleHeader header);

/// Keeps apart, in an existing order, what gives the least price.
void chooseApart(ProvenOrder &proven);

/// True if a problem is ordered in bundles of heads (dash/Schedule/Bundles.h). Then one of its
/// bundles, `bundle`, decides everything left open, but nothing is kept apart.
bool chooseOnBundle(const ScheduleHeader &header, ScheduleHeader &bundle);

/// The schedule with the least price over everything left open: the number of parts if it is 0, and
/// what is kept apart if the header allows the choice. From level batch on each sequence chooses
/// the number alone, from machine on one of its kv heads does. Fails with a message if lengths
/// disagree.
FailureOr<ProvenOrder> buildBest(ScheduleHeader header, MLIRContext *context, EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_CHOOSEPARTS_H
