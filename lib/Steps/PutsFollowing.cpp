//===- PutsFollowing.cpp - puts that wait for their slots together --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PutsFollowing.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dash;

SmallVector<PutOp> dash::findPutsFollowing(PutOp first) {
  SmallVector<PutOp> puts = {first};
  SmallVector<Value> released;
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    if (auto release = dyn_cast<ReleaseOp>(op)) {
      released.push_back(release.getChannel());
    } else if (auto put = dyn_cast<PutOp>(op); put && !put.isLoad()) {
      if (llvm::is_contained(released,
                             put.getChannel())) // it may wait for the slot that is released here
        break;
      puts.push_back(put);
    } else if (!isPure(op)) {
      break;
    }
  }
  return puts;
}

/// Moves `value`, and what it is computed from in this block, before an op.
static void hoist(Value value, Operation *before) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != before->getBlock() || op->isBeforeInBlock(before))
    return;
  for (Value operand : op->getOperands())
    hoist(operand, before);
  op->moveBefore(before);
}

void dash::hoistUsesOfPuts(RoleOp consumer) {
  consumer.walk([](PutOp first) {
    if (!first.isLoad())
      for (PutOp put : findPutsFollowing(first))
        hoist(put.getUse(), first);
  });
}
