//===- VerifyWaits.cpp - nothing is read or written too early -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows each role along all its paths and knows which slots it may read or write, and which products are in flight.
// Behind a branch it knows what both sides know; in a loop, what holds in front of every turn: a slot waited for as
// that of `%step + 1` is that of `%step` a turn later. A loop's bounds are taken to be in order.
//
//===----------------------------------------------------------------------===//

#include "VerifyWaits.h"
#include "HeldSlots.h"
#include "dash/Protocol/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::dash {
#define GEN_PASS_DEF_VERIFYWAITS
#include "dash/Protocol/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

class RolePaths {
public:
  LogicalResult follow(Region &region, HeldSlots &state) {
    for (Operation &op : region.getOps())
      if (failed(follow(&op, state)))
        return failure();
    return success();
  }

private:
  LogicalResult follow(Operation *op, HeldSlots &state) {
    if ((op->getNumRegions() > 0 || op->hasTrait<OpTrait::IsTerminator>()) &&
        !state.inFlight.empty()) {
      auto diagnostic = op->emitError("begins or ends a branch or a loop while a product is in "
                                      "flight: wait for it first");
      return diagnostic.attachNote(state.inFlight.front().op.getLoc()) << "this product";
    }
    if (failed(checkSums(op, state)))
      return failure();
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<scf::IfOp>([&](auto op) { return followBranch(op, state); })
        .Case<scf::ForOp>([&](auto op) { return followLoop(op, state); })
        .Case<MatmulOp, WgmmaWaitOp, MbarrierWaitOp, MbarrierArriveOp, CopyOutOp,
              NVVM::FenceProxyOp>([&](auto op) { return visit(op, state); })
        .Case<SlotTileOp, ReadIndicesOp>(
            [&](auto op) { return read(op, op.getChannel(), op.getSlot(), state); })
        .Case<HideOp>([&](auto op) {
          return op.getChannel() ? read(op, op.getChannel(), op.getSlot(), state) : success();
        })
        .Case<LoadRowOp>(
            [&](auto op) { return readByThreads(op, op.getChannel(), op.getSlot(), state); })
        .Case<LoadFactorOp>([&](auto op) {
          auto tile = op.getTile().template getDefiningOp<SlotTileOp>();
          return tile ? readByThreads(op, tile.getChannel(), tile.getSlot(), state) : success();
        })
        .Case<BulkAddOp, BulkStoreOp>([&](auto op) { return visitSum(op, state); })
        .Case<NVVM::CpAsyncBulkWaitGroupOp>([&](auto op) {
          if (op.getGroup() == 0)
            state.waitForCopies();
          return success();
        })
        .Case<AcquireTurnOp>([&](auto) { return state.isTurnUnfenced = true, success(); })
        .Case<SyncWarpgroupOp>([&](auto) { return state.syncWarpgroup(), success(); })
        .Case<CopyInOp, WriteIndicesOp, MbarrierExpectOp, StoreFragmentOp>(
            [&](auto op) { return write(op, op.getChannel(), op.getSlot(), state); })
        .Default([&](Operation *op) {
          auto isRight = [&](Region &region) { return succeeded(follow(region, state)); };
          return success(llvm::all_of(op->getRegions(), isRight));
        });
  }

  LogicalResult followBranch(scf::IfOp branch, HeldSlots &state) {
    HeldSlots other = state;
    if (failed(follow(branch.getThenRegion(), state)) ||
        failed(follow(branch.getElseRegion(), other)))
      return failure();
    state.meet(other);
    return success();
  }

  /// The loop deals with a channel turn by turn: uses that it is in the middle of go up with its variable.
  static bool isCountedBy(scf::ForOp loop, Value channel) {
    return llvm::any_of(channel.getUsers(), [&](Operation *user) {
      auto ring = dyn_cast<RingOp>(user);
      return ring && loop->isProperAncestor(ring) &&
             LinearIndex::of(ring.getUse()).uses(loop.getInductionVar());
    });
  }

  LogicalResult followLoop(scf::ForOp loop, HeldSlots &state) {
    Value variable = loop.getInductionVar();
    LinearIndex turn = LinearIndex::of(variable), first = LinearIndex::of(loop.getLowerBound());
    for (HeldSlot &one : state.held)
      if (isCountedBy(loop, one.slot.channel))
        one.slot.use = one.slot.use - first + turn;
    auto isOfOneTurn = [&](Value value) {
      return value != variable && loop.getRegion().isAncestor(value.getParentRegion());
    };
    for (bool isStable = false; !isStable;) {
      HeldSlots before = state, last = state;
      if (failed(follow(loop.getRegion(), last)))
        return failure();
      llvm::erase_if(last.held,
                     [&](const HeldSlot &one) { return one.slot.use.usesAny(isOfOneTurn); });
      for (LeavingSlot &one : last.leaving)
        one.use.reset();
      for (HeldSlot &one : last.held)
        one.slot.use = one.slot.use.replace(variable, turn - LinearIndex::of(loop.getStep()));
      state.meet(last);
      isStable = state.knowsAsMuchAs(before);
    }
    for (HeldSlot &one : state.held)
      one.slot.use = one.slot.use.replace(variable, LinearIndex::of(loop.getUpperBound()));
    return success();
  }

  /// Sums in flight are for waits and for the next product that adds to them.
  static LogicalResult checkSums(Operation *op, const HeldSlots &state) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto product = operand.get().getDefiningOp<MatmulOp>();
      if (!product || !product.getAsync() || isa<WgmmaWaitOp>(op))
        continue;
      auto next = dyn_cast<MatmulOp>(op);
      if (next && next.getAccumulate() == operand.get() && state.isInFlight(product))
        continue;
      auto diagnostic = op->emitError("uses sums of a product that nobody has waited for: use the "
                                      "results of its 'dash.wgmma_wait'");
      return diagnostic.attachNote(product.getLoc()) << "this product";
    }
    return success();
  }

  LogicalResult visit(MatmulOp op, HeldSlots &state) {
    if (!op.getAsync())
      return op.emitError("is not 'async', so nothing says where it is complete; run "
                          "--dash-insert-waits first");
    Product product{op, {}};
    for (Value factor : {op.getA(), op.getB()})
      if (auto tile = factor.getDefiningOp<SlotTileOp>()) {
        if (failed(read(op, tile.getChannel(), tile.getSlot(), state)))
          return failure();
        product.reads.push_back(*slotUseOf(tile.getChannel(), tile.getSlot()));
      }
    state.inFlight.push_back(product);
    return success();
  }

  LogicalResult visit(WgmmaWaitOp op, HeldSlots &state) {
    size_t pending = std::min<size_t>(op.getPending(), state.inFlight.size());
    for (Value sum : op.getInputs()) {
      auto product = sum.getDefiningOp<MatmulOp>();
      if (!product || !state.isInFlight(product))
        return op.emitError("waits for the sums of a product that is not in flight here");
      auto goesOn = [&](const Product &one) { return one.op == product; };
      if (llvm::any_of(ArrayRef(state.inFlight).take_back(pending), goesOn)) {
        auto diagnostic = op.emitError() << "lets the last " << pending
                                         << " products go on, and this is one of them";
        return diagnostic.attachNote(product.getLoc()) << "this product";
      }
    }
    ArrayRef<Product> complete = ArrayRef(state.inFlight).drop_back(pending);
    for (const Product &product : complete)
      if (Value factor = product.op.getA();
          !factor.getDefiningOp<SlotTileOp>() && !llvm::is_contained(op.getFactors(), factor)) {
        auto diagnostic = op.emitError("completes a product whose left factor in registers is not "
                                       "among its 'factors', so they may be overwritten before");
        return diagnostic.attachNote(product.op.getLoc()) << "this product";
      }
    for (Value factor : op.getFactors())
      if (llvm::none_of(complete, [&](const Product &one) { return one.op.getA() == factor; }))
        return op.emitError("keeps a factor that none of the products it completes reads");
    state.inFlight.erase(state.inFlight.begin(), state.inFlight.end() - pending);
    return success();
  }

  static FailureOr<SlotUse> useOf(Operation *op, Value channel, Value slot) {
    if (std::optional<SlotUse> use = slotUseOf(channel, slot))
      return *use;
    return op->emitError("slot must be that of a 'dash.ring' of its channel");
  }
  static StringRef nameOf(Value channel) { return channel.getDefiningOp<ChannelOp>().getName(); }

  LogicalResult visit(MbarrierWaitOp op, HeldSlots &state) {
    FailureOr<SlotUse> slot = useOf(op, op.getChannel(), op.getSlot());
    if (failed(slot))
      return failure();
    if (op.getPhase() != op.getSlot().getDefiningOp<RingOp>().getPhase())
      return op.emitError("slot and phase must be those of one use: results of one 'dash.ring'");
    state.drop(*slot);
    state.held.push_back({*slot, op.getSide(), op.getBorrows()});
    return success();
  }

  LogicalResult read(Operation *op, Value channel, Value slotValue, HeldSlots &state) {
    FailureOr<SlotUse> slot = useOf(op, channel, slotValue);
    if (failed(slot))
      return failure();
    if (HeldSlot *held = state.find(*slot); held && held->side == BarrierSide::Full)
      return success();
    return op->emitError() << "reads a slot of channel '" << nameOf(channel)
                           << "' that is not known to be full: it stands before the wait, or "
                              "behind the arrival that gives the slot back";
  }

  LogicalResult write(Operation *op, Value channel, Value slotValue, HeldSlots &state) {
    FailureOr<SlotUse> slot = useOf(op, channel, slotValue);
    if (failed(slot))
      return failure();
    HeldSlot *held = state.find(*slot);
    if (!held || held->side == BarrierSide::Full)
      return op->emitError() << "writes a slot of channel '" << nameOf(channel)
                             << "' that is not known to be empty: it stands before the wait, or "
                                "behind the arrival that gives the slot on";
    auto store = dyn_cast<StoreFragmentOp>(op);
    bool leaves = store && store.getPiece();
    if (leaves != held->isBorrowed)
      return op->emitError() << (leaves ? "leaves through a slot of channel '"
                                        : "fills a slot of channel '")
                             << nameOf(channel)
                             << (leaves ? "' that is not borrowed: its wait must say 'borrows'"
                                        : "' that is borrowed, and stays empty");
    held->isUnfenced |= isa<StoreFragmentOp>(op);
    held->isUnmet |= isa<StoreFragmentOp>(op);
    return failure(failed(checkLeft(op, *slot, state)) || failed(checkReaders(op, *slot, state)));
  }

  static LogicalResult checkReaders(Operation *op, const SlotUse &slot, const HeldSlots &state) {
    for (const Product &product : state.inFlight)
      if (llvm::is_contained(product.reads, slot)) {
        auto diagnostic = op->emitError()
                          << "a product in flight still reads this slot of channel '"
                          << nameOf(slot.channel) << "': wait for it first";
        return diagnostic.attachNote(product.op->getLoc()) << "this product";
      }
    return success();
  }

  static LogicalResult checkFenced(Operation *op, const HeldSlot &held) {
    if (!held.isUnfenced)
      return success();
    return op->emitError() << "hands on a slot of channel '" << nameOf(held.slot.channel)
                           << "' that threads have written without a proxy fence behind";
  }

  static LogicalResult checkLeft(Operation *op, const SlotUse &slot, const HeldSlots &state) {
    auto mayBe = [&](const LeavingSlot &one) { return one.mayBe(slot); };
    if (llvm::none_of(state.leaving, mayBe))
      return success();
    return op->emitError() << "writes a slot of channel '" << nameOf(slot.channel)
                           << "' that a copy of one thread may still read: that thread waits for "
                              "the copy, and the others meet it at a 'dash.sync_warpgroup' first";
  }

  LogicalResult readByThreads(Operation *op, Value channel, Value slot, HeldSlots &state) {
    if (failed(read(op, channel, slot, state)))
      return failure();
    state.find(*slotUseOf(channel, slot))->isRead = true;
    return success();
  }

  LogicalResult visit(NVVM::FenceProxyOp op, HeldSlots &state) {
    if (op.getKind() == NVVM::ProxyKind::async_shared)
      state.fenceShared();
    state.isTurnUnfenced &= op.getKind() != NVVM::ProxyKind::async_global;
    return success();
  }

  template <typename SumOp> LogicalResult visitSum(SumOp op, HeldSlots &state) {
    if (state.isTurnUnfenced)
      return op.emitError("changes sums behind the acquire of their turn without a proxy fence "
                          "(async.global) between: the copy engine may not see them yet");
    return read(op, op.getChannel(), op.getSlot(), state);
  }

  LogicalResult visit(CopyOutOp op, HeldSlots &state) {
    FailureOr<SlotUse> slot = useOf(op, op.getChannel(), op.getSlot());
    if (failed(slot))
      return failure();
    HeldSlot *held = state.find(*slot);
    if (!held || !held->isBorrowed)
      return op.emitError() << "copies out of a slot of channel '" << nameOf(op.getChannel())
                            << "' that is not borrowed: others may write and read it";
    if (failed(checkFenced(op, *held)))
      return failure();
    if (held->isUnmet)
      return op.emitError() << "copies rows of channel '" << nameOf(op.getChannel())
                            << "' before all threads have fenced what they wrote there: they meet "
                               "at a 'dash.sync_warpgroup' first";
    state.leave({slot->channel, slot->use});
    return success();
  }

  LogicalResult visit(MbarrierArriveOp op, HeldSlots &state) {
    FailureOr<SlotUse> slot = useOf(op, op.getChannel(), op.getSlot());
    if (failed(slot))
      return failure();
    HeldSlot *held = state.find(*slot);
    bool givesBack = op.getSide() == BarrierSide::Empty;
    if (!held || held->isBorrowed || (held->side == BarrierSide::Full) != givesBack)
      return op.emitError() << "gives a slot of channel '" << nameOf(op.getChannel()) << "' "
                            << (givesBack ? "back" : "on") << " that the role has not waited for";
    if (failed(checkFenced(op, *held)) || failed(checkReaders(op, *slot, state)))
      return failure();
    if (givesBack && held->isRead)
      return op.emitError() << "gives back a slot of channel '" << nameOf(op.getChannel())
                            << "' that threads have read without a proxy fence behind: the next "
                               "copy into it may come before";
    state.drop(*slot);
    return success();
  }
};

struct VerifyWaits : public dash::impl::VerifyWaitsBase<VerifyWaits> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](RoleOp role) -> WalkResult {
      HeldSlots state;
      return failure(failed(RolePaths().follow(role.getBody(), state)) ||
                     failed(verifyBalance(role)));
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
