//===- HoistStores.cpp - results leave when they are there ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dV and dK of an item are complete with its last step, and then its last dQ still waits for dS of the other warpgroup. What leaves
// through slots that are empty by then goes out in that time.
//
//===----------------------------------------------------------------------===//

#include "SlotUse.h"
#include "dash/IR/DashOps.h"
#include "dash/Lowering/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::dash {
#define GEN_PASS_DEF_HOISTSTORES
#include "dash/Lowering/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// The branches of which a store's tile is a result.
static scf::IfOp findBranch(StoreOp store) { return store.getValue().getDefiningOp<scf::IfOp>(); }

/// The tile, where a region of its branches makes it.
static Value findTile(StoreOp store, Region &region) {
  auto yield = cast<scf::YieldOp>(region.front().getTerminator());
  return yield.getOperand(cast<OpResult>(store.getValue()).getResultNumber());
}

/// The last wait for the channel in the region, if the tile is made in front of it and the store's slots are empty by then: those
/// who use a slot after each other release it in turn.
static WaitOp findPlace(StoreOp store, Region &region) {
  Operation *made = findTile(store, region).getDefiningOp();
  WaitOp last;
  for (auto wait : region.getOps<WaitOp>())
    if (wait.getChannel() == store.getThrough())
      last = wait;
  if (!last || !made || made->getBlock() != last->getBlock() || !made->isBeforeInBlock(last))
    return WaitOp();
  int64_t depth = store.getThrough().getDefiningOp<ChannelOp>().getDepth();
  LinearIndex ahead = LinearIndex::of(store.getUse()) - LinearIndex::of(last.getUse());
  std::optional<int64_t> distance = ahead.getNumber();
  bool isEmpty = distance && *distance + store.getLastSlot() < depth;
  return isEmpty ? last : WaitOp();
}

static bool hasPlace(StoreOp store) {
  scf::IfOp branch = findBranch(store);
  return branch && llvm::any_of(branch->getRegions(),
                                [&](Region &region) { return bool(findPlace(store, region)); });
}

/// A number that is computed behind branches, in front of them.
static Value computeAt(OpBuilder &b, Value number) {
  Operation *op = number.getDefiningOp();
  if (!isa_and_present<arith::AddIOp, arith::ConstantOp>(op))
    return number;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, computeAt(b, operand));
  return b.clone(*op, mapping)->getResult(0);
}

/// Into all branches, of which one may be cut further.
static void hoist(StoreOp store) {
  scf::IfOp branch = findBranch(store);
  if (!branch)
    return;
  for (Region &region : branch->getRegions()) {
    WaitOp place = findPlace(store, region);
    OpBuilder b(place ? place : region.front().getTerminator());
    IRMapping mapping;
    mapping.map(store.getValue(), findTile(store, region));
    hoist(cast<StoreOp>(b.clone(*store, mapping)));
  }
  store.erase();
}

namespace {

struct HoistStores : public dash::impl::HoistStoresBase<HoistStores> {
  void runOnOperation() override {
    SmallVector<StoreOp> stores;
    WalkResult result = getOperation()->walk([&](StoreOp store) -> WalkResult {
      if (store.getThrough() && !store.getUse())
        return store.emitError("has no number of its use; run --dash-read-order first");
      if (store.getThrough() && hasPlace(store))
        stores.push_back(store);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (StoreOp store : stores) {
      OpBuilder b(findBranch(store));
      store.getUseMutable().assign(computeAt(b, store.getUse()));
      hoist(store);
    }
  }
};

} // namespace
