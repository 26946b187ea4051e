//===- LowerOrderedReduce.cpp - adds to memory, in turns and in no order --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ordered add. One thread does all of it, because groups of copies belong to a thread:
//
//   1. wait until the tile's counter is the turn (acquire), then for the slot to be full;
//   2. a proxy fence, then the add; the first turn stores, so nothing needs to be zero before;
//   3. wait until the copy is complete, not only read: `.read` frees the slot, never the turn.
//      Completion brings its own proxy fence, so none follows it;
//   4. the counter goes up (release); the last turn leaves -1: the sum is complete.
//
// A warp never waits for a turn while its own add is unreleased: that could form a cycle that no
// verifier of schedules sees. So each warp finishes one tile before the next.
//
// A contribution that is kept apart has a separate place, and waits only for its slot.
//
// L2 should evict sums last: the next turn adds to them, and the conversion reads them. Everything
// else that a kernel moves is used once, or again soon.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/Steps/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERORDEREDREDUCE
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct LowerOrderedReduce : public dash::impl::LowerOrderedReduceBase<LowerOrderedReduce> {
  using LowerOrderedReduceBase::LowerOrderedReduceBase;

  void runOnOperation() override {
    SmallVector<RoleOp> reducers;
    getOperation()->walk([&](RoleOp role) {
      if (role.isReducer())
        reducers.push_back(role);
    });
    if (contributions && reducers.empty())
      getOperation()->walk([&](WorkersOp workers) {
        workers.emitError("has no role that adds sums of steps, so there are no contributions to "
                          "keep: drop 'contributions'");
        signalPassFailure();
      });
    for (RoleOp role : reducers)
      if (failed(lower(role)))
        return signalPassFailure();
  }

private:
  /// A slot that a reducer adds: its wait and its release, in the block of the add.
  struct Slot {
    WaitOp wait;
    ReleaseOp release;
  };

  LogicalResult lower(RoleOp role) {
    if (role.getItems())
      return role.emitError("has items that are not loops yet; run --dash-read-order first");
    SmallVector<OrderedReduceOp> ordered;
    SmallVector<ReduceOp> unordered;
    SmallVector<StoreTaskOp> kept;
    role.walk([&](StoreTaskOp op) { kept.push_back(op); });
    role.walk([&](OrderedReduceOp op) { ordered.push_back(op); });
    role.walk([&](ReduceOp op) { unordered.push_back(op); });
    // Nothing reads these before the kernel's end.
    bool waitsAtEnd = !unordered.empty() || !kept.empty();
    for (StoreTaskOp op : kept)
      if (failed(lower(op)))
        return failure();
    for (OrderedReduceOp op : ordered) {
      waitsAtEnd |= op.getApart();
      if (failed(lower(op)))
        return failure();
    }
    if (contributions && !unordered.empty())
      return unordered.front().emitError(
          "adds in no order, so contributions have no turns to be kept "
          "by; use a schedule whose kind is not 'unordered'");
    for (ReduceOp op : unordered)
      if (failed(lower(op)))
        return failure();
    if (waitsAtEnd) {
      auto b = ImplicitLocOpBuilder::atBlockEnd(role.getLoc(), &role.getBody().front());
      waitCopies(b, /*read=*/false);
    }
    return success();
  }

  static FailureOr<Slot> findSlot(Operation *op, Value tile) {
    auto wait = tile.getDefiningOp<WaitOp>();
    if (!wait || wait->getBlock() != op->getBlock() || !tile.hasOneUse() || !wait.getUse())
      return op->emitError("must be the only use of a tile that a 'dash.wait' of its block gives, "
                           "with the number of the use");
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (auto release = dyn_cast<ReleaseOp>(next);
          release && release.getChannel() == wait.getChannel())
        return Slot{wait, release};
    return op->emitError("needs a 'dash.release' of its slot behind it, in its block");
  }

  static void waitCopies(ImplicitLocOpBuilder &b, bool read) {
    NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(0),
                                         read ? b.getUnitAttr() : UnitAttr());
  }
  static Value slotOf(ImplicitLocOpBuilder &b, WaitOp wait) {
    Type index = b.getIndexType();
    return RingOp::create(b, index, index, wait.getChannel(), wait.getUse()).getSlot();
  }

  /// The pieces of a tile are contiguous.
  static Value tileOf(ImplicitLocOpBuilder &b, OrderedReduceOp op) {
    std::optional<int64_t> piece = op.getPiece();
    if (!piece)
      return op.getTile();
    Value pieces = arith::ConstantIndexOp::create(b, *op.getPieces());
    Value first = arith::MulIOp::create(b, op.getTile(), pieces);
    return b.createOrFold<arith::AddIOp>(first, arith::ConstantIndexOp::create(b, *piece));
  }

  LogicalResult lower(OrderedReduceOp op) {
    FailureOr<Slot> slot = findSlot(op, op.getValue());
    if (failed(slot))
      return failure();
    if (!op.getIsLast())
      return op.emitError("does not say which turn is the last; run --dash-read-order first");
    ImplicitLocOpBuilder b(op.getLoc(), op);
    if (op.getApart())
      keepApart(b, op, *slot);
    else
      addInTurn(b, op, *slot);
    op.erase();
    ++numLowered;
    return success();
  }

  void keepApart(ImplicitLocOpBuilder &b, OrderedReduceOp op, Slot slot) {
    Value target = op.getTarget(), sequence = op.getSequence(), head = op.getHead();
    Value tile = tileOf(b, op), turn = op.getTurn();
    BulkStoreOp::create(b, target, sequence, head, tile, slot.wait.getChannel(),
                        slotOf(b, slot.wait), turn, /*evictLast=*/false);
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
    CountTurnsOp::create(b, target, sequence, head, tile, turn, op.getIsLast());
    waitCopies(b, /*read=*/true);
  }

  void addInTurn(ImplicitLocOpBuilder &b, OrderedReduceOp op, Slot slot) {
    Value target = op.getTarget(), sequence = op.getSequence(), head = op.getHead();
    Value tile = tileOf(b, op), turn = op.getTurn(), channel = slot.wait.getChannel();
    AcquireTurnOp::create(b, target, sequence, head, tile, turn);
    slot.wait->moveBefore(op);
    NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_global, NVVM::SharedSpaceAttr());
    Value place = slotOf(b, slot.wait);
    if (contributions)
      BulkStoreOp::create(b, target, sequence, head, tile, channel, place, turn,
                          /*evictLast=*/false);
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, turn, zero);
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/true);
    auto inThen = ImplicitLocOpBuilder(op.getLoc(), branch.getThenBodyBuilder());
    BulkStoreOp::create(inThen, target, sequence, head, tile, channel, place, Value(),
                        /*evictLast=*/true);
    auto inElse = ImplicitLocOpBuilder(op.getLoc(), branch.getElseBodyBuilder());
    BulkAddOp::create(inElse, target, sequence, head, tile, channel, place, /*evictLast=*/true);
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
    waitCopies(b, /*read=*/true);

    b.setInsertionPointAfter(slot.release);
    waitCopies(b, /*read=*/false);
    ReleaseTurnOp::create(b, target, sequence, head, tile, op.getIsLast(),
                          op.getSignalsCompletion());
  }

  LogicalResult lower(StoreTaskOp op) {
    FailureOr<Slot> slot = findSlot(op, op.getValue());
    if (failed(slot))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), op);
    CopyTaskOutOp::create(b, slot->wait.getChannel(), slotOf(b, slot->wait), op.getTarget(),
                          op.getSequence(), op.getHead(), op.getTile(), op.getKvHead(),
                          op.getKvTile());
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
    waitCopies(b, /*read=*/true);
    op.erase();
    ++numLowered;
    return success();
  }

  LogicalResult lower(ReduceOp op) {
    FailureOr<Slot> slot = findSlot(op, op.getValue());
    if (failed(slot))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), op);
    Value channel = slot->wait.getChannel();
    Value place = slotOf(b, slot->wait);
    BulkAddOp::create(b, op.getTarget(), op.getSequence(), op.getHead(), op.getTile(), channel,
                      place, /*evictLast=*/true);
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
    waitCopies(b, /*read=*/true);
    op.erase();
    ++numLowered;
    return success();
  }
};

} // namespace
