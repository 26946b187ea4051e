//===- OrderItems.h - put an order into tiled IR ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_ORDERITEMS_H
#define DASH_LIB_SCHEDULE_ORDERITEMS_H

#include "dash/Schedule/ScheduleIR.h"

namespace mlir::dash {

/// Fails, with a message, if `orderItems` cannot handle the items.
LogicalResult verifyCanBeOrdered(ItemsOp items, int64_t parts);

/// The orders of items that are ordered already: loops over the same tensors, with the same tiles
/// and mask, have the same order.
class KnownOrders {
public:
  bool has(ItemsOp items) const { return bool(find(items)); }
  /// Before the items are ordered.
  void add(ItemsOp items, ScheduleOp order);
  /// Puts items in the order that they have. `isList` as of `orderItems`.
  LogicalResult orderAlike(ItemsOp items, bool isList) const;

private:
  ScheduleOp find(ItemsOp items) const;

  struct Known {
    SmallVector<Value, 3> over;
    Attribute facts;
    ScheduleOp order;
  };
  SmallVector<Known, 1> all;
};

/// Adds the schedule to the nearest symbol table of items, under a name made from `function`.
ScheduleOp addOrder(ItemsOp items, const Schedule &schedule, const ScheduleFacts &facts,
                    StringRef function);

/// Replaces an unscheduled `dash.items` by one in the order of `schedule`. `isList`: the sequences
/// are a list, which the types cannot tell from a batch.
void orderItems(ItemsOp items, ScheduleOp schedule, bool isList);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_ORDERITEMS_H
