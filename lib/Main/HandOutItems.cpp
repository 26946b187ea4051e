//===- HandOutItems.cpp - items that are drawn while a program runs -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over a worker's list become loops until no item is left. Only the role that loads draws.
// Consumers wait for an item's first slot anyway, whose indices say what to do; a number of steps
// below 0 says that there is no more. So handing out costs them nothing.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/ItemsLoop.h"
#include "dash/Main/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dash {
#define GEN_PASS_DEF_HANDOUTITEMS
#include "dash/Main/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// The channel whose slots tell of an item.
static ChannelOp findHeader(scf::ForOp loop) {
  for (auto write : loop.getBody()->getOps<WriteIndicesOp>())
    return write.getChannel().getDefiningOp<ChannelOp>();
  return ChannelOp();
}

namespace {

/// A loop over items as a `scf.while`, which carries the number of items so far in front of what
/// the loop carries.
class ItemsWhile {
public:
  explicit ItemsWhile(scf::ForOp loop) : loop(loop), b(loop.getLoc(), loop) {}

  /// Carries the place of the next item, too. It is drawn when all of this one is on its way: a
  /// draw ahead of time would leave a short item waiting behind a long one.
  void drawItems(ChannelOp header) {
    Value first = DrawItemOp::create(b, b.getIndexType(), true);
    SmallVector<Value> inits = {loop.getLowerBound(), first};
    llvm::append_range(inits, loop.getInitArgs());
    auto made = scf::WhileOp::create(b, ValueRange(inits).getTypes(), inits);
    Block *before = addBlock(made.getBefore(), inits), *after = addBlock(made.getAfter(), inits);
    b.setInsertionPointToEnd(before);
    // read again for each item: the role has no register to keep it
    Value items = NumItemsOp::create(b, b.getIndexType());
    Value isLeft =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, before->getArgument(1), items);
    scf::ConditionOp::create(b, isLeft, before->getArguments());

    b.setInsertionPointToEnd(after);
    for (auto read : loop.getBody()->getOps<ReadItemOp>())
      read.getPlaceMutable().assign(after->getArgument(1));
    moveBody(after, after->getArguments().drop_front(2), /*draws=*/true);
    replaceLoop(made, made.getResults().drop_front(2));
    tellEnd(header, made.getResult(0));
  }

  /// Waits for an item's slot, or for the end, where the loop would compare numbers.
  LogicalResult awaitItems(ChannelOp header) {
    Block *body = loop.getBody();
    auto read = llvm::find_if(body->getOps<ReadIndicesOp>(), [&](ReadIndicesOp op) {
      return op.getChannel() == header.getResult();
    });
    if (read == body->getOps<ReadIndicesOp>().end())
      return loop.emitError() << "is told of no item: expected a 'dash.read_indices' of channel '"
                              << header.getName() << "'; run --dash-insert-waits first";
    ReadIndicesOp told = *read;
    SmallVector<Operation *> moved;
    for (Operation &op : llvm::make_range(body->begin(), std::next(told->getIterator())))
      if (!isa<SlotTileOp>(op))
        moved.push_back(&op);
    llvm::SetVector<Value> forwarded;
    for (Operation *op : moved)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [&](Operation *user) { return !llvm::is_contained(moved, user); }))
          forwarded.insert(result);

    SmallVector<Value> inits = {loop.getLowerBound()};
    llvm::append_range(inits, loop.getInitArgs());
    SmallVector<Value> results = {loop.getLowerBound()};
    llvm::append_range(results, forwarded);
    llvm::append_range(results, loop.getInitArgs());
    auto made = scf::WhileOp::create(b, ValueRange(results).getTypes(), inits);
    Block *before = addBlock(made.getBefore(), inits), *after = addBlock(made.getAfter(), results);
    auto isMoved = [&](OpOperand &use) { return llvm::is_contained(moved, use.getOwner()); };
    loop.getInductionVar().replaceUsesWithIf(before->getArgument(0), isMoved);
    for (auto [carried, argument] :
         llvm::zip(loop.getRegionIterArgs(), before->getArguments().drop_front()))
      carried.replaceUsesWithIf(argument, isMoved);
    for (auto [known, argument] : llvm::zip(forwarded, after->getArguments().drop_front())) {
      Value value = known;
      value.replaceUsesWithIf(argument, [&](OpOperand &use) { return !isMoved(use); });
    }
    for (Operation *op : moved)
      op->moveBefore(before, before->end());
    b.setInsertionPointToEnd(before);
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value isItem =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, told.getIndices().front(), zero);
    SmallVector<Value> passed = {before->getArgument(0)};
    llvm::append_range(passed, forwarded);
    llvm::append_range(passed, before->getArguments().drop_front());
    scf::ConditionOp::create(b, isItem, passed);

    b.setInsertionPointToEnd(after);
    size_t firstCarried = 1 + forwarded.size();
    moveBody(after, after->getArguments().drop_front(firstCarried), /*draws=*/false);
    replaceLoop(made, made.getResults().drop_front(firstCarried));
    return success();
  }

private:
  Block *addBlock(Region &region, ValueRange like) {
    SmallVector<Location> locations(like.size(), loop.getLoc());
    return b.createBlock(&region, {}, like.getTypes(), locations);
  }

  /// Moves what is left of the loop's body, behind which the next item is drawn if it `draws`.
  void moveBody(Block *to, ValueRange carried, bool draws) {
    Block *body = loop.getBody();
    auto yield = cast<scf::YieldOp>(body->getTerminator());
    loop.getInductionVar().replaceAllUsesWith(to->getArgument(0));
    for (auto [old, argument] : llvm::zip_equal(loop.getRegionIterArgs(), carried))
      old.replaceAllUsesWith(argument);
    SmallVector<Value> yielded(yield.getOperands());
    yield.erase();
    to->getOperations().splice(to->end(), body->getOperations());
    b.setInsertionPointToEnd(to);
    SmallVector<Value> next = {arith::AddIOp::create(b, to->getArgument(0), loop.getStep())};
    if (draws)
      next.push_back(DrawItemOp::create(b, b.getIndexType(), /*first=*/false));
    llvm::append_range(next, yielded);
    scf::YieldOp::create(b, next);
  }

  void replaceLoop(scf::WhileOp made, ValueRange carried) {
    loop.replaceAllUsesWith(carried);
    auto numItems = loop.getUpperBound().getDefiningOp<NumItemsOp>();
    loop.getBody()->clear();
    loop.erase();
    if (numItems->use_empty())
      numItems->erase();
    b.setInsertionPointAfter(made);
  }

  /// One more use of the channel, behind those of all items.
  void tellEnd(ChannelOp header, Value use) {
    Value channel = header.getResult();
    auto ring = RingOp::create(b, b.getIndexType(), b.getIndexType(), channel, use);
    MbarrierWaitOp::create(b, channel, BarrierSide::Empty, ring.getSlot(), ring.getPhase(),
                           /*borrows=*/false);
    SmallVector<Value> indices(header.getType().getNumIndices(),
                               arith::ConstantIndexOp::create(b, 0));
    indices.front() = arith::ConstantIndexOp::create(b, noItemIsLeft);
    WriteIndicesOp::create(b, indices, channel, ring.getSlot());
    MbarrierArriveOp::create(b, channel, BarrierSide::Full, ring.getSlot(), ArriveScope::Thread);
  }

  scf::ForOp loop;
  ImplicitLocOpBuilder b;
};

struct HandOutItems : public dash::impl::HandOutItemsBase<HandOutItems> {
  using HandOutItemsBase::HandOutItemsBase;

  void runOnOperation() override {
    SmallVector<WorkersOp> all;
    getOperation()->walk([&](WorkersOp workers) {
      if (workers.getHandsOut())
        all.push_back(workers);
    });
    for (WorkersOp workers : all) {
      if (failed(handOut(workers)))
        return signalPassFailure();
      ++numHandedOut;
    }
  }

private:
  static LogicalResult handOut(WorkersOp workers) {
    ChannelOp header;
    SmallVector<scf::ForOp> consumers;
    scf::ForOp producer;
    for (RoleOp role : workers.getRoles()) {
      scf::ForOp loop = findItemsLoop(role);
      if (!loop)
        return role.emitError() << "has no loop over items; run --dash-read-order first";
      if (role.isConsumer()) {
        consumers.push_back(loop);
        continue;
      }
      producer = loop;
      header = findHeader(loop);
      if (!header)
        return role.emitError() << "tells of no item: expected a 'dash.write_indices' in its loop "
                                   "over items; run --dash-insert-waits first";
    }
    for (scf::ForOp loop : consumers)
      if (failed(ItemsWhile(loop).awaitItems(header)))
        return failure();
    ItemsWhile(producer).drawItems(header);
    return success();
  }
};

} // namespace
