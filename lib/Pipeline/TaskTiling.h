//===- TaskTiling.h - tilings of dQ whose dS is read ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_TASKTILING_H
#define DASH_LIB_PIPELINE_TASKTILING_H

#include "Tiling.h"
#include "dash/Pipeline/KernelCoverage.h"

namespace mlir::dash {

/// Items that own q tiles, and multiply dS by K: both are loaded in each step.
struct TaskTiling {
  TileShape tiles = {0, 0};
  TileWidths widths = {0, 0};
  WarpStructure structure = WarpStructure::Alternating;
  SlotCounts slots = {}; ///< of dS and K, and of what leaves

  int64_t getWarpgroups() const;
  TilingAttr getAttr(MLIRContext *context) const;
  int64_t countRegisters() const;
  int64_t getMostRegisters(const TargetDescription &target) const;
  int64_t countSharedBytes() const;
};

FailureOr<TaskTiling> chooseTaskTiling(AttentionBwdOp op, const TilingConstraints &constraints,
                                       const TargetDescription &target);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_TASKTILING_H
