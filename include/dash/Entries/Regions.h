//===- Regions.h - regions of the workspace by content ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_REGIONS_H
#define DASH_ENTRIES_REGIONS_H

#include "dash/IR/DashOps.h"
#include "dash/IR/OrderBuffer.h"

namespace mlir::dash {

/// The region with one number for each row, in the form that kernels use: LSE to base 2, or delta.
std::string rowsRegion(TensorRoleAttr rows);

/// Regions that belong to the sums of a tensor.
std::string sumsRegion(TensorRoleAttr sums);
std::string turnsRegion(TensorRoleAttr sums);
std::string contributionsRegion(TensorRoleAttr sums);

/// The size of the region of contributions: for each q tile as many slots as there are kv tiles,
/// for each kv tile as many as there are parts.
std::string contributionsBytes(TensorRoleAttr sums, TilesAttr tiles, int64_t parts);

/// The word that counts the items which workers have drawn, where they are handed out.
constexpr llvm::StringLiteral drawnRegion = "drawn";

/// Where a launch deals items by work: the items in issue order, then the worker and the place in
/// its list of each.
constexpr llvm::StringLiteral issueRegion = "issue";
constexpr int64_t issueBytesOfItem = 4 * orderItemWords + 8;

/// The pieces of the keys of a sequence, and no sequence has more: a derived size.
constexpr llvm::StringLiteral keyPieces = "kv_pieces";
/// The region of what pieces of the keys make of an output, whose memory has the access `sum`: rows
/// of all heads of the first piece, then those of the second, and so on.
std::string piecesRegion(TensorRoleAttr output);
std::string piecesBytes(TensorRoleAttr output);

/// The region with one number for each run of rows; their sum is a sink's gradient.
constexpr llvm::StringLiteral sinkRegion = "sink_sum";
std::string sinkRegionBytes(int64_t qTile);
/// Runs of rows in a q tile.
inline int64_t sinkRuns(int64_t qTile) { return qTile / SinkGradientOp::rowsOfRun; }

/// The value of a tile's counter once all turns of its chain are given, until the next launch. A 0
/// would not tell a complete chain from one that has not begun, so hangs could not be explained.
constexpr int64_t sumIsComplete = -1;

} // namespace mlir::dash

#endif // DASH_ENTRIES_REGIONS_H
