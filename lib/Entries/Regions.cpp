//===- Regions.cpp - regions of the workspace ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Entries/Regions.h"

using namespace mlir;
using namespace mlir::dash;

std::string dash::rowsRegion(TensorRoleAttr rows) {
  return rows.getName().str() + (rows.getKind() == TensorKind::LogRow ? "2" : "");
}

std::string dash::sumsRegion(TensorRoleAttr sums) { return (sums.getName() + "_sum").str(); }

/// Regions that every program has for queries have no prefix.
static std::string regionOf(TensorRoleAttr sums, StringRef what) {
  return sums.isKeyValue() ? (sums.getName() + "_" + what).str() : what.str();
}
std::string dash::turnsRegion(TensorRoleAttr sums) { return regionOf(sums, "turns"); }
std::string dash::contributionsRegion(TensorRoleAttr sums) {
  return regionOf(sums, "contributions");
}

std::string dash::contributionsBytes(TensorRoleAttr sums, TilesAttr tiles, int64_t parts) {
  int64_t rowBytes = 4 * sums.getTileColumns();
  if (!sums.isKeyValue())
    return "batch*heads*q_tiles*kv_tiles*" + std::to_string(tiles.getQ() * rowBytes);
  return "batch*kv_heads*kv_tiles*" + std::to_string(parts * tiles.getKv() * rowBytes);
}

std::string dash::sinkRegionBytes(int64_t qTile) {
  return "4*batch*heads*q_tiles*" + std::to_string(sinkRuns(qTile));
}

std::string dash::piecesRegion(TensorRoleAttr output) {
  return (output.getName() + "_pieces").str();
}

std::string dash::piecesBytes(TensorRoleAttr output) {
  std::string rows = ("4*batch*heads*" + keyPieces + "*q_rows").str();
  return output.isTile() ? rows + "*" + std::to_string(output.getTileColumns()) : rows;
}
