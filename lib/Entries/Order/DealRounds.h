//===- DealRounds.h - the entry that deals items by work -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_ORDER_DEALROUNDS_H
#define DASH_LIB_ENTRIES_ORDER_DEALROUNDS_H

#include "dash/Entries/Kernels.h"

namespace mlir::dash {

/// Builds `NAME_deal`, which reads the items that `NAME_order` leaves in issue order, and writes
/// the lists. Precondition: the workspace has the region for them.
void buildDeal(const Kernels &kernels, DealAttr prices);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_ORDER_DEALROUNDS_H
