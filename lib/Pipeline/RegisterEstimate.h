//===- RegisterEstimate.h - how many registers a walk needs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_REGISTERESTIMATE_H
#define DASH_LIB_PIPELINE_REGISTERESTIMATE_H

#include "dash/IR/DashOps.h"
#include "dash/IR/TargetDescription.h"

namespace mlir::dash {

/// Registers for addresses, masks, phases of barriers and a few elements in flight. With this many
/// beside tiles and rows (head dim 128, 64 rows of Q) ptxas spills nothing in the loop. With fewer
/// (head dim 64, 128 rows) it spills, and the kernel takes up to 1.45 times as long.
constexpr int64_t registersForAddresses = 16;

/// Registers a thread for so many bytes that are split evenly among `threads`; for those of a row
/// vector, which a thread shares with few others.
int64_t registersOf(int64_t bytes, int64_t threads);
int64_t registersOfRows(int64_t bytes);
/// The same for a tile, or for a row vector.
int64_t registersOf(Value tile, int64_t threads);

/// The most registers of a thread that sums of one role take: what is left holds S and dP, and what
/// is made of them. With more, each sum has a role of its own.
constexpr int64_t mostRegistersOfSums = 128;

/// Registers of a block are dealt evenly at launch; what those who move tiles give back goes to
/// those who multiply.
struct DealtRegisters {
  int64_t atLaunch, moving, multiplying;
};
DealtRegisters dealRegisters(const TargetDescription &target, int64_t warps, int64_t multiplying);

/// Registers that an ordered walk needs in each thread, and the op at which it needs most.
struct RegisterEstimate {
  int64_t carried = 0;   ///< for values carried from step to step: sums, and factors of the item
  int64_t inFlight = 0;  ///< for tiles between the ops that make and use them, at the peak
  int64_t addresses = 0; ///< for everything else
  Operation *at = nullptr;

  int64_t total() const { return carried + inFlight + addresses; }
};

/// A lower bound in practice: tiles are split evenly among `threads`, and each register is free as
/// soon as it can be. Only a compiler's report of spills shows what it makes of this.
RegisterEstimate estimateRegisters(WalkOp walk, int64_t threads);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_REGISTERESTIMATE_H
