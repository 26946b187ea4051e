//===- PackItems.h - deal items to lists of equal length -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_SEARCH_PACKITEMS_H
#define DASH_LIB_SCHEDULE_SEARCH_PACKITEMS_H

#include "dash/Schedule/Schedule.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace mlir::dash {

/// Deals items, longest first, to at most `workers` lists of nearly equal lengths. Bisection finds
/// the shortest length to which best fit packs them (MULTIFIT; Coffman, Garey, Johnson 1978).
/// Returns the list of each item.
std::vector<int32_t> packItems(llvm::ArrayRef<int64_t> lengths, int64_t workers);

/// Deals the items without tasks again: after all others, each to the worker with the least to
/// compute. Nothing waits for them, so the model gives them no time, and one worker would get many.
/// But each must write zeros, which takes about as long as an item of one task. Precondition: one
/// part, so that they have no turns.
void dealEmptyItems(Table &table, const Cost &cost, int64_t workers);

/// Deals all items again, in issue order, each to the worker that is free first. Precondition:
/// nothing is summed across items, so that it does not matter what else a worker has.
void dealToFirstFree(Table &table, const Cost &cost, int64_t workers);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_SEARCH_PACKITEMS_H
