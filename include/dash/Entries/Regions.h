//===- Regions.h - regions of the workspace, by what they hold *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_REGIONS_H
#define DASH_ENTRIES_REGIONS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// The region with a number a row, as kernels take it: LSE to base 2, or delta.
std::string rowsRegion(TensorRoleAttr rows);

/// Regions that belong to the sums of a tensor.
std::string sumsRegion(TensorRoleAttr sums);
std::string turnsRegion(TensorRoleAttr sums);
std::string contributionsRegion(TensorRoleAttr sums);

/// How large that of contributions is: as many slots for each q tile as there are kv tiles, and for each kv tile as there are
/// parts.
std::string contributionsBytes(TensorRoleAttr sums, TilesAttr tiles, int64_t parts);

/// The region with a number of each run of rows, whose sum is a sink's gradient.
constexpr llvm::StringLiteral sinkRegion = "sink_sum";
std::string sinkRegionBytes(int64_t qTile);
/// Runs of rows in a q tile.
inline int64_t sinkRuns(int64_t qTile) { return qTile / SinkGradientOp::rowsOfRun; }

/// What the counter of a tile is once its sum is complete, where somebody waits for that.
constexpr int64_t sumIsComplete = -1;

} // namespace mlir::dash

#endif // DASH_ENTRIES_REGIONS_H
