//===- ForwardTiling.h - how a forward is cut into tiles --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_FORWARDTILING_H
#define DASH_LIB_PIPELINE_FORWARDTILING_H

#include "Tiling.h"
#include "dash/Pipeline/KernelCoverage.h"

namespace mlir::dash {

/// How one forward of attention is cut into tiles. Its kv tile is a part of its bits, so only the
/// head dims choose it, or the caller.
struct ForwardTiling {
  TileShape tiles;
  TileWidths widths = {0, 0};
  WarpStructure structure = WarpStructure::Overlapping;
  SlotCounts slots = {}; ///< of k, v and q
  bool holdsQ = false;   ///< in registers, as the left factor of S

  int64_t getWarpgroups() const;
  TilingAttr getAttr(MLIRContext *context) const;

  /// What a thread that multiplies needs and has, and bytes of shared memory of a block.
  int64_t countRegisters() const;
  int64_t getMostRegisters(const TargetDescription &target) const;
  int64_t countSharedBytes() const;
};

/// The first of all candidates that the constraints leave and that fits. They are in the order in
/// which they are expected to be fast.
FailureOr<ForwardTiling> chooseForwardTiling(AttentionFwdOp op,
                                             const TilingConstraints &constraints,
                                             const TargetDescription &target);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_FORWARDTILING_H
