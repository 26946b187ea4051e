//===- WaitsAreOps.cpp - where passes stand behind waits ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WaitsAreOps.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult dash::checkWaitsAreOps(WorkersOp workers) {
  WalkResult result = workers.walk([](Operation *op) -> WalkResult {
    if (isa<PutOp, CommitOp, WaitOp, HeldOp, ReleaseOp, StoreOp, OrderedReduceOp, ReduceOp>(op))
      return op->emitError("is no wait and no arrival yet; run --dash-insert-waits first");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
