//===- SinkSums.h - the gradient of a sink, from runs of rows --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_SINKSUMS_H
#define DASH_LIB_ENTRIES_SINKSUMS_H

#include "dash/Entries/Places.h"

namespace mlir::dash {

/// Adds up what the entry before the main kernel left in `sinkRegion`, in blocks that have one q
/// tile each.
void sumSinks(EntryBuilder &b, const Kernels &kernels, Value thread, const QueryTile &tile);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_SINKSUMS_H
