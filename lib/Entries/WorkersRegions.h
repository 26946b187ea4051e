//===- WorkersRegions.h - regions that main kernels ask for -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_WORKERSREGIONS_H
#define DASH_LIB_ENTRIES_WORKERSREGIONS_H

#include "dash/Entries/Kernels.h"

namespace mlir::dash {

/// Adds regions with a slot for each contribution that is kept beside the sums; contributions kept
/// apart have theirs already.
void addContributions(Kernels &kernels);

/// Adds the region of records, and the names of what they record.
LogicalResult addTrace(Kernels &kernels, WorkersOp workers);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_WORKERSREGIONS_H
