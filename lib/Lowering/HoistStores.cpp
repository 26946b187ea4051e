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

/// The branches that make a tile.
static scf::IfOp findBranch(Value tile) { return tile.getDefiningOp<scf::IfOp>(); }

/// A result of branches, as it is called in a region of theirs.
static Value findIn(Region &region, Value tile) {
  auto yield = cast<scf::YieldOp>(region.front().getTerminator());
  return yield.getOperand(cast<OpResult>(tile).getResultNumber());
}

/// Whether the block, up to an op of it, gives back all that it has waited for.
static bool isReleasedBefore(Operation *end, Value channel) {
  auto before = llvm::make_range(end->getBlock()->begin(), end->getIterator());
  return llvm::all_of(before, [&](Operation &op) {
    auto wait = dyn_cast<WaitOp>(op);
    return !wait || wait.getChannel() != channel || llvm::any_of(before, [&](Operation &other) {
      auto release = dyn_cast<ReleaseOp>(other);
      return release && release.getChannel() == channel &&
             LinearIndex::of(release.getUse()) == LinearIndex::of(wait.getUse());
    });
  });
}

/// The region's last wait for the store's channel, if the tile is made in front of it and the store's slots are empty by then: those
/// who use a slot after each other release it in turn, and this role has.
static WaitOp findPlace(StoreOp store, Value tile, Region &region) {
  Operation *made = findIn(region, tile).getDefiningOp();
  WaitOp last;
  for (auto wait : region.getOps<WaitOp>())
    if (wait.getChannel() == store.getThrough())
      last = wait;
  if (!last || !made || made->getBlock() != last->getBlock() || !made->isBeforeInBlock(last))
    return WaitOp();
  int64_t depth = store.getThrough().getDefiningOp<ChannelOp>().getDepth();
  LinearIndex ahead = LinearIndex::of(store.getUse()) - LinearIndex::of(last.getUse());
  std::optional<int64_t> distance = ahead.getNumber();
  bool isEmpty = distance && *distance > 0 && *distance + store.getLastSlot() < depth &&
                 isReleasedBefore(last, store.getThrough());
  return isEmpty ? last : WaitOp();
}

static bool hasPlace(StoreOp store, Value tile) {
  scf::IfOp branch = findBranch(tile);
  return branch && llvm::any_of(branch->getRegions(), [&](Region &region) {
           return findPlace(store, tile, region) || hasPlace(store, findIn(region, tile));
         });
}

static bool isInFrontOf(Operation *place, Value value) {
  Operation *op = value.getDefiningOp();
  return !op || op->getBlock() != place->getBlock() || op->isBeforeInBlock(place);
}

/// Whether what is computed behind an op can be in front of it.
static bool canComputeAt(Operation *place, Value value) {
  if (isInFrontOf(place, value))
    return true;
  Operation *op = value.getDefiningOp();
  return isPure(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value one) { return canComputeAt(place, one); });
}

static Value computeAt(Operation *place, Value value) {
  if (isInFrontOf(place, value))
    return value;
  IRMapping mapping;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    mapping.map(operand, computeAt(place, operand));
  unsigned number = cast<OpResult>(value).getResultNumber();
  return OpBuilder(place).clone(*op, mapping)->getResult(number);
}

static bool canHoist(StoreOp store) {
  scf::IfOp branch = findBranch(store.getValue());
  return branch && branch->getBlock() == store->getBlock() && hasPlace(store, store.getValue()) &&
         llvm::all_of(store->getOperands(), [&](Value operand) {
           return operand == store.getValue() || canComputeAt(branch, operand);
         });
}

/// Into all branches, of which one may be cut further.
static void hoist(StoreOp store) {
  scf::IfOp branch = findBranch(store.getValue());
  if (!branch)
    return;
  for (Region &region : branch->getRegions()) {
    WaitOp place = findPlace(store, store.getValue(), region);
    OpBuilder b(place ? place : region.front().getTerminator());
    IRMapping mapping;
    mapping.map(store.getValue(), findIn(region, store.getValue()));
    hoist(cast<StoreOp>(b.clone(*store, mapping)));
  }
  store.erase();
}

namespace {

struct HoistStores : public dash::impl::HoistStoresBase<HoistStores> {
  void runOnOperation() override {
    SmallVector<StoreOp> stores;
    llvm::SmallDenseSet<Value, 2>
        staying; // a store through them: others stay behind it; looked up only
    WalkResult result = getOperation()->walk([&](StoreOp store) -> WalkResult {
      if (store.getThrough() && !store.getUse())
        return store.emitError("has no number of its use; run --dash-read-order first");
      if (!store.getThrough() || staying.contains(store.getThrough()))
        return WalkResult::advance();
      if (canHoist(store))
        stores.push_back(store);
      else
        staying.insert(store.getThrough());
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (StoreOp store : stores) {
      scf::IfOp branch = findBranch(store.getValue());
      for (OpOperand &operand : store->getOpOperands())
        if (operand.get() != store.getValue())
          operand.set(computeAt(branch, operand.get()));
      hoist(store);
    }
  }
};

} // namespace
