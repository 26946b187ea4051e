//===- PartTiling.h - tilings of a part of the gradients --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program of dK and dV, or of dQ, adds nothing in memory. Its tilings are few, in the order in
// which they are expected to be fast: the first that fits is taken.
//===----------------------------------------------------------------------===//

#ifndef DASH_LIB_PIPELINE_PARTTILING_H
#define DASH_LIB_PIPELINE_PARTTILING_H

#include "Tiling.h"
#include "dash/Pipeline/KernelCoverage.h"

namespace mlir::dash {

/// How a program of a part of the gradients is cut into tiles.
struct PartTiling {
  bool ownsQ = false; ///< dQ; else dK and dV
  TileShape tiles = {0, 0};
  TileWidths widths = {0, 0};
  WarpStructure structure = WarpStructure::Overlapping;
  bool holdsK = false, holdsV = false; ///< in registers, as left factors of S and dP
  bool keepsDs = false;                ///< for another program: dK leaves through its slots, too
  SlotCounts slots = {}; ///< of k, v, q and do, of what leaves, and of P where it crosses

  int64_t getWarpgroups() const;
  /// The roles that multiply: one for each of dK and dV where a thread cannot hold both sums.
  int64_t countConsumers() const;
  /// Holds K in the registers of the role that multiplies S by it, and V in those of dP's, where
  /// they have room.
  void holdWhatFits(const TargetDescription &target);
  /// Whether Q and dO of a step share a slot.
  bool sharesSlots() const;
  TilingAttr getAttr(MLIRContext *context) const;

  int64_t countRegisters() const;
  int64_t getMostRegisters(const TargetDescription &target) const;
  int64_t countSharedBytes() const;
};

FailureOr<PartTiling> choosePartTiling(AttentionBwdOp op, const TilingConstraints &constraints,
                                       const TargetDescription &target);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_PARTTILING_H
