//===- OrderItems.h - put an order into tiled IR ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_ORDERITEMS_H
#define DASH_LIB_SCHEDULE_ORDERITEMS_H

#include "dash/Schedule/ScheduleIR.h"

namespace mlir::dash {

/// Fails, with a message, if `orderItems` cannot handle the items.
LogicalResult verifyCanBeOrdered(ItemsOp items, int64_t parts);

/// Replaces an unscheduled `dash.items` by one in the order of `schedule`. Adds the schedule to the
/// nearest symbol table under a name made from `function`. `isList`: the sequences are a list,
/// which the types cannot tell from a batch.
void orderItems(ItemsOp items, const Schedule &schedule, const ScheduleFacts &facts,
                StringRef function, bool isList);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_ORDERITEMS_H
