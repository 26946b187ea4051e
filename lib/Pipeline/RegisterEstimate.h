//===- RegisterEstimate.h - how many registers a walk needs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_REGISTERESTIMATE_H
#define DASH_LIB_PIPELINE_REGISTERESTIMATE_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Addresses, masks, phases of barriers and a few elements on their way. With so many registers left beside tiles and
/// rows (head dim 128, 64 rows of Q) ptxas spills nothing in the loop; with fewer (head dim 64, 128 rows) it does, and
/// the kernel takes up to 1.45 times as long.
constexpr int64_t registersForAddresses = 16;

/// Registers a thread for a tile that is split evenly among `threads`, or for a row vector.
int64_t registersOf(Value tile, int64_t threads);

/// Registers a thread that an ordered walk needs, and the op at which it needs most.
struct RegisterEstimate {
  int64_t carried = 0;   ///< for what stays from step to step: sums, and factors of the item
  int64_t inFlight = 0;  ///< for tiles between the ops that make and that use them, where most
  int64_t addresses = 0; ///< for everything else
  Operation *at = nullptr;

  int64_t total() const { return carried + inFlight + addresses; }
};

/// A lower bound in practice: tiles split evenly among `threads`, each register free at the moment
/// it can be. What a compiler makes of it is seen only from its report of spills.
RegisterEstimate estimateRegisters(WalkOp walk, int64_t threads);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_REGISTERESTIMATE_H
