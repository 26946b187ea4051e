//===- BeginItems.cpp - the next item begins beside the end of this one ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An item of a forward ends with a product that nothing runs beside, then with element-wise work,
// beside which no product runs; and it begins with a product that everything waits for. So the
// first product of the next item is issued behind the last one of this item, and runs while this
// one is finished and stored, if its Q has a slot by then. The loop over items is rotated by it.
//
//===----------------------------------------------------------------------===//

#include "ItemBeginning.h"
#include "dash/IR/ItemsLoop.h"
#include "dash/Steps/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::dash {
#define GEN_PASS_DEF_BEGINITEMS
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Rotates a consumer's loop over items by what an item begins with.
class Rotation {
public:
  Rotation(scf::ForOp loop, ItemBeginning beginning)
      : loop(loop), beginning(std::move(beginning)), b(loop) {}

  LogicalResult run() {
    SmallVector<Value> carried = findCarried();
    IRMapping first, next;
    mapLoop(first, loop.getLowerBound(), loop.getInitArgs());
    b.setInsertionPoint(loop);
    cloneTo(first);

    // The numbers of the next item's uses must be known where it begins.
    Operation *place = findPlace();
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    if (failed(moveValueDefinitions(b, yield.getOperands(), place)))
      return loop.emitError() << "begins items ahead, and the first use of the next item is not "
                                 "known before this one ends";
    b.setInsertionPoint(place);
    Value nextPlace =
        arith::AddIOp::create(b, loop.getLoc(), loop.getInductionVar(), loop.getStep());
    mapLoop(next, nextPlace, yield.getOperands());
    cloneTo(next);
    nameTilesAgain();

    auto lookUp = [&](IRMapping &in) {
      return llvm::map_to_vector(carried, [&](Value value) { return in.lookup(value); });
    };
    auto yieldNext = [&](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
      for (auto [value, argument] : llvm::zip_equal(carried, arguments))
        value.replaceUsesWithIf(argument, [&](OpOperand &use) { return isBehind(use); });
      return lookUp(next);
    };
    auto made = loop.replaceWithAdditionalYields(b, lookUp(first), false, yieldNext);
    assert(succeeded(made) && "a for loop carries any values");
    loop = cast<scf::ForOp>(made->getOperation());
    releaseLast();
    for (Operation *op : llvm::reverse(beginning.ops))
      if (op->use_empty())
        op->erase();
    return success();
  }

private:
  /// A tile that stays in its slot.
  static bool isInSlot(Value value) {
    return isa<RankedTensorType>(value.getType()) && value.getDefiningOp<WaitOp>();
  }
  bool isBehind(OpOperand &use) const { return !beginning.ops.contains(use.getOwner()); }
  bool isUsedBehind(Value value) const {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) { return isBehind(use); });
  }

  /// What the item needs of its beginning, in registers. Other numbers are computed again.
  SmallVector<Value> findCarried() const {
    SmallVector<Value> carried;
    for (Operation *op : beginning.ops)
      if (isa<MatmulOp>(op) || !isPure(op)) // products, waits, and what is loaded
        for (Value result : op->getResults())
          if (isUsedBehind(result) && !isInSlot(result))
            carried.push_back(result);
    return carried;
  }

  /// Behind the last product, and behind the turn that it is issued in. If this item holds the only
  /// slot of Q, the next one has not come by then, and the end of this item would wait for it: then
  /// behind this item.
  Operation *findPlace() {
    if (llvm::any_of(beginning.getWaits(), [&](WaitOp wait) {
          return wait.getChannel().getDefiningOp<ChannelOp>().getDepth() == 1 &&
                 !beginning.releases(wait.getChannel());
        }))
      return loop.getBody()->getTerminator();
    Operation *last = nullptr;
    for (auto product : loop.getBody()->getOps<MatmulOp>())
      last = product;
    if (isa<GiveTensorCoreOp>(last->getNextNode()))
      last = last->getNextNode();
    return last->getNextNode();
  }

  void mapLoop(IRMapping &mapping, Value place, ValueRange carried) {
    mapping.map(loop.getInductionVar(), place);
    mapping.map(loop.getRegionIterArgs(), carried);
  }

  void cloneTo(IRMapping &mapping) {
    for (Operation *op : beginning.ops)
      b.clone(*op, mapping);
  }

  void nameTilesAgain() {
    for (WaitOp wait : beginning.getWaits()) {
      if (llvm::none_of(wait.getTiles(), [&](Value tile) { return isUsedBehind(tile); }))
        continue;
      b.setInsertionPoint(wait);
      auto held = HeldOp::create(b, wait.getLoc(), wait.getTiles().getTypes(), wait.getChannel(),
                                 wait.getUse());
      for (auto [tile, again] : llvm::zip_equal(wait.getTiles(), held.getTiles())) {
        Value named = tile;
        named.replaceUsesWithIf(again, [&](OpOperand &use) { return isBehind(use); });
      }
    }
  }

  /// The slots of the item behind the last, but those that its beginning has released.
  void releaseLast() {
    IRMapping last;
    mapLoop(last, loop.getUpperBound(), loop.getResults());
    b.setInsertionPointAfter(loop);
    for (Operation *op : beginning.ops) {
      if (auto wait = dyn_cast<WaitOp>(op); wait && !beginning.releases(wait.getChannel()))
        ReleaseOp::create(b, wait.getLoc(), wait.getChannel(), last.lookupOrDefault(wait.getUse()),
                          IntegerAttr());
      else if (isPure(op) && !isa<MatmulOp>(op))
        b.clone(*op, last);
    }
  }

  scf::ForOp loop;
  ItemBeginning beginning;
  IRRewriter b;
};

struct BeginItems : public dash::impl::BeginItemsBase<BeginItems> {
  void runOnOperation() override {
    FailureOr<SmallVector<scf::ForOp>> loops = findLoopsAhead(getOperation());
    if (failed(loops))
      return signalPassFailure();
    for (scf::ForOp loop : *loops) {
      FailureOr<ItemBeginning> beginning = findItemBeginning(loop);
      if (failed(beginning) || failed(Rotation(loop, std::move(*beginning)).run()))
        return signalPassFailure();
      ++numRotated;
    }
  }
};

} // namespace
