//===- DealByWork.h - items to the worker that is free first ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_DEALBYWORK_H
#define DASH_LIB_SCHEDULE_DEALBYWORK_H

#include "dash/IR/OrderBuffer.h"
#include "dash/IR/Problem.h"

namespace mlir::dash {

/// The sequences of a problem as a launch issues them: those with more walked rows first, of equal
/// ones the first.
SmallVector<int64_t> sequencesByRows(const Problem &problem);

/// Deals each item, in issue order, to the worker that is free first, of equal ones the first. An
/// item keeps its worker busy for a price. `--dash-lower-deal` makes the same lists on the device.
void dealByWork(MutableArrayRef<Item> items, llvm::function_ref<int64_t(const Item &)> priceOf,
                int64_t workers);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_DEALBYWORK_H
