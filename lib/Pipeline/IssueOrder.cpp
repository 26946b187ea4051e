//===- IssueOrder.cpp - when an op of a walk is issued --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "IssueOrder.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dash;

SmallVector<Issue> dash::getIssueOrder(WalkOp walk) {
  SmallVector<Issue> order;
  if (!walk.getStages())
    return order;
  for (Operation &op : walk.getBody().front().without_terminator())
    order.push_back({&op, cast<StagedOpInterface>(op).getStageAttr().getInt()});
  return order;
}

void dash::setIssueOrder(WalkOp walk, ArrayRef<Issue> order) {
  Builder b(walk.getContext());
  Operation *end = walk.getYield();
  int64_t last = 0;
  for (const Issue &issue : order) {
    cast<StagedOpInterface>(issue.op).setStageAttr(b.getI64IntegerAttr(issue.stage));
    issue.op->moveBefore(end);
    last = std::max(last, issue.stage);
  }
  walk.setStages(last + 1);
}

int64_t dash::getTime(const Issue &issue, int64_t position, int64_t iterationLength) {
  return issue.stage * iterationLength + position;
}
