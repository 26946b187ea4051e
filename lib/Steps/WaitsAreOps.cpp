//===- WaitsAreOps.cpp - whether passes run after waits are ops -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WaitsAreOps.h"
#include "dash/Steps/SlotUse.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult dash::checkWaitsAreOps(WorkersOp workers) {
  WalkResult result = workers.walk([](Operation *op) { return WalkResult(verifyWaitsAreOps(op)); });
  return failure(result.wasInterrupted());
}
