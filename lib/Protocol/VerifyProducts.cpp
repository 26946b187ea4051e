//===- VerifyProducts.cpp - sums in flight, along a role's paths ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HeldSlots.h"
#include "VerifyWaits.h"

using namespace mlir;
using namespace mlir::dash;

/// Sums in flight may only be used by waits and by the next product that adds to them.
LogicalResult dash::verifySums(Operation *op, const HeldSlots &state) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto product = operand.get().getDefiningOp<MatmulOp>();
    if (!product || !product.getAsync() || isa<WgmmaWaitOp>(op))
      continue;
    auto next = dyn_cast<MatmulOp>(op);
    if (next && next.getAccumulate() == operand.get() && state.isInFlight(product))
      continue;
    auto diagnostic = op->emitError("uses sums of a product in flight: use the "
                                    "results of its 'dash.wgmma_wait'");
    return diagnostic.attachNote(product.getLoc()) << "this product";
  }
  if (auto product = dyn_cast<MatmulOp>(op); product && !product.getAsync())
    return op->emitError("is not 'async', so nothing says where it is complete; run "
                         "--dash-insert-waits first");
  return success();
}

static void issue(MatmulOp op, HeldSlots &state) {
  ProductInFlight product{op, {}};
  for (const SlotAccess &access : op.getSlotAccesses())
    product.reads.push_back(*slotUseOf(access.slot));
  state.inFlight.push_back(product);
}

static LogicalResult waitFor(WgmmaWaitOp op, HeldSlots &state) {
  size_t pending = std::min<size_t>(op.getPending(), state.inFlight.size());
  for (Value sum : op.getInputs()) {
    auto product = sum.getDefiningOp<MatmulOp>();
    if (!product || !state.isInFlight(product))
      return op.emitError("waits for the sums of a product that is not in flight here");
    auto goesOn = [&](const ProductInFlight &one) { return one.op == product; };
    if (llvm::any_of(ArrayRef(state.inFlight).take_back(pending), goesOn)) {
      auto diagnostic = op.emitError() << "lets the last " << pending
                                       << " products go on, and this is one of them";
      return diagnostic.attachNote(product.getLoc()) << "this product";
    }
  }
  ArrayRef<ProductInFlight> complete = ArrayRef(state.inFlight).drop_back(pending);
  for (const ProductInFlight &product : complete)
    if (Value factor = product.op.getA();
        !findNamed(factor) && !llvm::is_contained(op.getFactors(), factor)) {
      auto diagnostic = op.emitError("completes a product whose left factor in registers is not "
                                     "among its 'factors', so they may be overwritten before");
      return diagnostic.attachNote(product.op.getLoc()) << "this product";
    }
  for (Value factor : op.getFactors())
    if (llvm::none_of(complete,
                      [&](const ProductInFlight &one) { return one.op.getA() == factor; }))
      return op.emitError("keeps a factor that none of the products it completes reads");
  for (const ProductInFlight &product : complete)
    for (const SlotUse &slot : product.reads)
      if (HeldSlot *held = state.find(slot))
        held->isReadByProducts = true;
  state.inFlight.erase(state.inFlight.begin(), state.inFlight.end() - pending);
  return success();
}

LogicalResult dash::followProducts(Operation *op, HeldSlots &state) {
  if (auto product = dyn_cast<MatmulOp>(op))
    issue(product, state);
  auto wait = dyn_cast<WgmmaWaitOp>(op);
  return wait ? waitFor(wait, state) : success();
}
