//===- IssueOrder.cpp - when an op of a walk is issued --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "IssueOrder.h"
#include "dash/Pipeline/IssueAttrs.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dash;

SmallVector<Issue> dash::getIssueOrder(WalkOp walk) {
  struct Place {
    int64_t order, text;
    Issue issue;
  };
  SmallVector<Place> places;
  for (Operation &op : walk.getBody().front().without_terminator()) {
    auto stage = op.getAttrOfType<IntegerAttr>(stageAttr);
    auto order = op.getAttrOfType<IntegerAttr>(orderAttr);
    if (!stage || !order)
      return {};
    places.push_back({order.getInt(), int64_t(places.size()), {&op, stage.getInt()}});
  }
  llvm::sort(places, [](const Place &a, const Place &b) {
    return std::pair(a.order, a.text) < std::pair(b.order, b.text);
  });
  return llvm::map_to_vector(places, [](const Place &place) { return place.issue; });
}

void dash::setIssueOrder(WalkOp walk, ArrayRef<Issue> order) {
  Builder b(walk.getContext());
  Operation *end = walk.getYield();
  for (bool isAhead : {true, false})
    for (auto [i, issue] : llvm::enumerate(order)) {
      if ((issue.stage == 0) != isAhead)
        continue;
      issue.op->setAttr(stageAttr, b.getI64IntegerAttr(issue.stage));
      issue.op->setAttr(orderAttr, b.getI64IntegerAttr(i));
      issue.op->moveBefore(end);
    }
}

int64_t dash::getTime(const Issue &issue, int64_t position, int64_t turnLength) {
  return issue.stage * turnLength + position;
}
