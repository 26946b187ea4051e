//===- ItemBeginning.cpp - what an item's first product needs -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ItemBeginning.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace mlir::dash;

SmallVector<WaitOp> ItemBeginning::getWaits() const {
  SmallVector<WaitOp> waits;
  for (Operation *op : ops)
    if (auto wait = dyn_cast<WaitOp>(op))
      waits.push_back(wait);
  return waits;
}

bool ItemBeginning::releases(Value channel) const {
  return llvm::any_of(ops, [&](Operation *op) {
    auto release = dyn_cast<ReleaseOp>(op);
    return release && release.getChannel() == channel;
  });
}

bool ItemBeginning::waitsFor(Value channel) const {
  return llvm::any_of(getWaits(), [&](WaitOp wait) { return wait.getChannel() == channel; });
}

FailureOr<ItemBeginning> dash::findItemBeginning(scf::ForOp loop) {
  auto products = loop.getBody()->getOps<MatmulOp>();
  if (products.empty())
    return loop.emitError() << "begins items ahead, and has no product that each item has: "
                               "expected walks of a step at least, which --dash-peel-walks makes";
  MatmulOp product = *products.begin();
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == loop.getBody(); };
  SetVector<Operation *> slice;
  LogicalResult isKnown = getBackwardSlice(product.getOperation(), &slice, options);
  assert(succeeded(isKnown) && "a product has no regions");
  (void)isKnown;
  ItemBeginning beginning;
  for (Operation &op : *loop.getBody()) {
    auto release = dyn_cast<ReleaseOp>(op);
    bool isOfBeginning = release && beginning.waitsFor(release.getChannel()) &&
                         (release->isBeforeInBlock(product) || release->getPrevNode() == product);
    if (isOfBeginning || slice.contains(&op))
      beginning.ops.insert(&op);
  }
  return beginning;
}
