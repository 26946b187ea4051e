//===- RegisterEstimate.h - how many registers a walk needs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_REGISTERESTIMATE_H
#define DASH_LIB_PIPELINE_REGISTERESTIMATE_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Registers a thread that an ordered walk needs, and the op at which it needs most.
struct RegisterEstimate {
  int64_t carried = 0;   ///< for what stays from step to step: sums, and factors of the item
  int64_t inFlight = 0;  ///< for tiles between the ops that make and that use them, where most
  int64_t addresses = 0; ///< for everything else
  Operation *at = nullptr;

  int64_t total() const { return carried + inFlight + addresses; }
};

/// What each of `threads` holds of a tile that is split evenly among them.
int64_t registersOf(Value tile, int64_t threads);

/// A lower bound in practice: tiles split evenly among `threads`, each register free at the moment
/// it can be. What a compiler makes of it is seen only from its report of spills.
RegisterEstimate estimateRegisters(WalkOp walk, int64_t threads);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_REGISTERESTIMATE_H
