//===- HoistStores.cpp - store results as soon as they exist --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dV and dK of an item are complete with its last step, while its last dQ still waits for dS of the
// other warpgroup. Results that leave through slots that are already empty go out during that time.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/Steps/Passes.h"
#include "dash/Steps/SlotUse.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::dash {
#define GEN_PASS_DEF_HOISTSTORES
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// The branches that produce a tile.
static scf::IfOp findBranch(Value tile) { return tile.getDefiningOp<scf::IfOp>(); }

/// The value of a branch result inside one of its regions.
static Value findIn(Region &region, Value tile) {
  auto yield = cast<scf::YieldOp>(region.front().getTerminator());
  return yield.getOperand(cast<OpResult>(tile).getResultNumber());
}

/// Whether the role, before it reaches an op, has released all slots of the channel that it has
/// waited for.
static bool isReleasedBefore(Operation *end, Value channel) {
  SmallVector<LinearIndex> waits, releases;
  for (; !isa<RoleOp>(end); end = end->getParentOp())
    for (Operation &before : llvm::make_range(end->getBlock()->begin(), end->getIterator()))
      before.walk([&](Operation *op) {
        for (const Sync &sync : syncsOf(op))
          if (sync.slot.channel != channel)
            continue;
          else if (sync.isWaitFor(BarrierSide::Full))
            waits.push_back(LinearIndex::of(sync.slot.use));
          else if (sync.isArrivalAt(BarrierSide::Empty))
            releases.push_back(LinearIndex::of(sync.slot.use));
      });
  return llvm::all_of(waits,
                      [&](const LinearIndex &use) { return llvm::is_contained(releases, use); });
}

static bool waitsFor(Operation *op, Value channel) {
  return op
      ->walk([&](WaitOp wait) {
        return wait.getChannel() == channel ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The region's last wait for the store's channel, if the tile is defined before it and the store's
/// slots are empty by then: users of a slot release it in turn, and this role has.
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

/// Whether the store may move from a region's end into the branches that define its tile there: no
/// wait follows them.
static bool canEnterFrom(StoreOp store, Value tile, Region &region) {
  scf::IfOp branch = findBranch(findIn(region, tile));
  if (!branch || branch->getParentRegion() != &region)
    return false;
  auto behind = llvm::make_range(std::next(branch->getIterator()), region.front().end());
  return llvm::none_of(behind, [&](Operation &op) { return waitsFor(&op, store.getThrough()); });
}

static bool hasPlace(StoreOp store, Value tile) {
  scf::IfOp branch = findBranch(tile);
  return branch && llvm::any_of(branch->getRegions(), [&](Region &region) {
           return findPlace(store, tile, region) ||
                  (canEnterFrom(store, tile, region) && hasPlace(store, findIn(region, tile)));
         });
}

/// Channels and regions with a store through the channel at the region's end: other stores stay
/// after it.
using Staying = llvm::SmallDenseSet<std::pair<Value, Region *>, 4>; // looked up only

/// Moves the store into all branches: to its place in each, or to the end.
static void hoist(StoreOp store, Staying &staying) {
  Value tile = store.getValue();
  for (Region &region : findBranch(tile)->getRegions()) {
    std::pair<Value, Region *> here(store.getThrough(), &region);
    bool canMove = !staying.contains(here);
    WaitOp place = canMove ? findPlace(store, tile, region) : WaitOp();
    bool canEnter = canMove && !place && canEnterFrom(store, tile, region);
    OpBuilder b(place ? place : region.front().getTerminator());
    IRMapping mapping;
    mapping.map(tile, findIn(region, tile));
    auto clone = cast<StoreOp>(b.clone(*store, mapping));
    if (canEnter)
      hoist(clone, staying);
    else if (!place)
      staying.insert(here);
  }
  store.erase();
}

/// Moves the store's other operands before the branches, if they can be computed there.
static LogicalResult makeReady(StoreOp store, scf::IfOp branch) {
  if (store->getBlock() != branch->getBlock())
    return failure();
  IRRewriter rewriter(store.getContext());
  SmallVector<Value> told;
  for (Value operand : store->getOperands())
    if (operand != store.getValue())
      told.push_back(operand);
  return moveValueDefinitions(rewriter, told, branch);
}

namespace {

struct HoistStores : public dash::impl::HoistStoresBase<HoistStores> {
  void runOnOperation() override {
    SmallVector<StoreOp> stores;
    llvm::SmallDenseMap<Value, scf::IfOp, 2>
        branches; // of the last store through a channel; looked up only
    WalkResult result = getOperation()->walk([&](StoreOp store) -> WalkResult {
      if (store.getThrough() && !store.getUse())
        return store.emitError("has no number of its use; run --dash-read-order first");
      if (!store.getThrough())
        return WalkResult::advance();
      // Stores keep their order: one moves only into the branches of all stores before it.
      scf::IfOp branch = findBranch(store.getValue());
      scf::IfOp &known = branches.try_emplace(store.getThrough(), branch).first->second;
      bool canMove = branch && known == branch && hasPlace(store, store.getValue()) &&
                     succeeded(makeReady(store, branch));
      if (canMove)
        stores.push_back(store);
      else
        known = {};
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    Staying staying;
    for (StoreOp store : stores)
      hoist(store, staying);
  }
};

} // namespace
