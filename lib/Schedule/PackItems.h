//===- PackItems.h - deal items to lists of equal length -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_PACKITEMS_H
#define DASH_LIB_SCHEDULE_PACKITEMS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace mlir::dash {

/// Deals items, longest first, to at most `workers` lists of nearly equal lengths: the shortest length
/// to which best fit packs them, found by bisection (MULTIFIT; Coffman, Garey, Johnson 1978). Gives the
/// list of each item.
std::vector<int32_t> packItems(llvm::ArrayRef<int64_t> lengths, int64_t workers);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_PACKITEMS_H
