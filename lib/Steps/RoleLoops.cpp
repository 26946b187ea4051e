//===- RoleLoops.cpp - the loops of one role over its worker's list -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoleLoops.h"
#include "ChannelUse.h"
#include "ItemBeginning.h"
#include "dash/IR/ItemsLoop.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::dash;

/// The index among a slot's elements in which a producer says how many steps an item has, or -1.
static int64_t findStepsElement(ChannelOp channel) {
  for (Operation *user : channel.getResult().getUsers())
    if (auto put = dyn_cast<PutOp>(user))
      for (auto [i, element] : llvm::enumerate(put.getElements()))
        if (element.getDefiningOp<NumStepsOp>())
          return i;
  return -1;
}

namespace {

/// Replaces the items of one role.
class RoleLoops {
public:
  RoleLoops(RoleOp role, const ItemUses &itemUses)
      : role(role), items(role.getItems()), walk(role.getWalk()), b(items.getLoc(), items),
        itemUses(itemUses) {}

  LogicalResult run() {
    LogicalResult done = role.isConsumer() ? consume() : readOrder();
    if (succeeded(done))
      items.erase();
    return done;
  }

private:
  using Body = llvm::function_ref<SmallVector<Value>(Value, ValueRange)>;

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value add(Value lhs, Value rhs) { return b.createOrFold<arith::AddIOp>(lhs, rhs); }
  Value sub(Value lhs, Value rhs) { return b.createOrFold<arith::SubIOp>(lhs, rhs); }
  Value mod(Value lhs, Value rhs) { return arith::RemUIOp::create(b, lhs, rhs); }

  SmallVector<Value> forEach(Value begin, Value end, Value step, ValueRange inits, Body body) {
    auto loop = scf::ForOp::create(b, begin, end, step, inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!inits.empty()) // else the builder has ended the body
      scf::YieldOp::create(b, next);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  //===--------------------------------------------------------------------===//
  // Uses of channels
  //===--------------------------------------------------------------------===//

  void clone(Operation &op, Value use) {
    Operation *made = b.clone(op, mapping);
    if (auto number = useOf(made))
      number->assign(use);
  }

  static Value channelOf(Operation *op) {
    if (auto put = dyn_cast<PutOp>(op))
      return put.getChannel();
    auto store = dyn_cast<StoreOp>(op);
    return store ? store.getThrough() : op->getOperand(0);
  }
  int64_t itemUsesOf(Operation *op) const { return itemUses.lookup(channelOf(op)); }

  /// The number of an item's first use of a channel of steps.
  Value firstUse(Value firstStep, Value place, int64_t perItem) {
    return perItem == 0 ? firstStep
                        : add(firstStep, b.createOrFold<arith::MulIOp>(place, index(perItem)));
  }

  //===--------------------------------------------------------------------===//
  // Consumers
  //===--------------------------------------------------------------------===//

  LogicalResult consume() {
    if (walk)
      return walk.emitError() << "is a walk of a consumer; run --dash-peel-walks first";
    Value steps;
    for (auto wait : items.getBody().getOps<WaitOp>())
      if (int64_t element = findStepsElement(wait.getChannel().getDefiningOp<ChannelOp>());
          element >= 0)
        steps = wait.getElements()[element];
    if (!steps)
      return role.emitError() << "is not told how many steps an item has: expected a channel of "
                                 "each item into which a producer puts 'dash.num_steps'";
    Block &body = items.getBody().front();
    forEach(index(0), NumItemsOp::create(b, b.getIndexType()), index(1), index(0),
            [&](Value place, ValueRange first) -> SmallVector<Value> {
              llvm::SmallDenseMap<int64_t, Value, 2> firstUses; // looked up only
              for (const auto &[channel, count] : itemUses)
                if (!firstUses.contains(count))
                  firstUses[count] = firstUse(first[0], place, count);
              b.getInsertionBlock()->getOperations().splice(b.getInsertionPoint(),
                                                            body.getOperations());
              usesBehind.clear();
              b.getInsertionBlock()->walk([&](Operation *op) {
                if (!isa<HeldOp>(op) && !useOf(op))
                  return;
                int64_t count = itemUsesOf(op);
                number(op, place, count ? firstUses[count] : first[0], steps);
              });
              b.setInsertionPointToEnd(b.getInsertionBlock());
              return {add(first[0], steps)};
            });
    return success();
  }

  /// A use of a step is numbered in its item: that it is numbered at all tells it from a use of an
  /// item.
  void number(Operation *op, Value place, Value first, Value steps) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    if (auto held = dyn_cast<HeldOp>(op))
      held.getUseMutable().assign(add(first, held.getUse()));
    auto use = useOf(op);
    if (!use)
      return;
    if (auto store = dyn_cast<StoreOp>(op))
      use->assign(store.isThroughLoaded()                               ? place
                  : channelOf(op).getDefiningOp<ChannelOp>().isWayOut() ? index(0)
                                                                        : add(first, steps));
    else if (!use->empty())
      use->assign(add(first, (*use)[0].get()));
    else if (itemUsesOf(op))
      use->assign(add(add(first, steps), index(usesBehind[{channelOf(op), op->getName()}]++)));
    else
      use->assign(place);
  }

  //===--------------------------------------------------------------------===//
  // Producers and reducers
  //===--------------------------------------------------------------------===//

  LogicalResult readOrder() {
    if (walk && !walk.getInits().empty())
      return walk.emitError() << "carries values in a role that is no consumer, which none does";
    for (auto wait : items.getBody().getOps<WaitOp>())
      if (role.isReducer() && itemUsesOf(wait) && (!walk || wait->isBeforeInBlock(walk)))
        return wait.emitError() << "waits in front of the walk for a slot of a channel of steps, "
                                   "whose uses of an item follow its steps";
    SmallVector<Value> inits;
    if (walk)
      inits.push_back(index(0));
    Value numItems = NumItemsOp::create(b, b.getIndexType());
    SmallVector<Value> left =
        forEach(index(0), numItems, index(1), inits,
                [&](Value place, ValueRange first) -> SmallVector<Value> {
                  readItem(place);
                  SmallVector<Value> next;
                  Block &body = items.getBody().front();
                  for (auto op = body.begin(); op != body.end(); ++op)
                    if (&*op == walk)
                      next =
                          role.isReducer() ? emitOwnSteps(first[0], place) : emitAllSteps(first[0]);
                    else if (auto steps = dyn_cast<NumStepsOp>(*op))
                      mapping.map(steps.getResult(), numSteps());
                    else if (role.isReducer() && isa<WaitOp>(*op) && itemUsesOf(&*op))
                      op = emitOwnUse(op, place);
                    else
                      clone(*op, place);
                  return next;
                });
    return beginsAhead() ? emitEnd(numItems, left) : success();
  }

  void readItem(Value place) {
    Type type = b.getIndexType();
    item = ReadItemOp::create(b, type, type, type, type, b.getI64Type(), type, type, place);
    mapping.map(items.getSequence(), item.getSequence());
    mapping.map(items.getHead(), item.getKvHead());
    mapping.map(items.getTile(), item.getKvTile());
    if (Value pieceHead = items.getPieceHead(); pieceHead && !pieceHead.use_empty())
      mapping.map(pieceHead, ReadPartOp::create(b, type, type, place).getTurn());
  }

  /// Where items own q tiles, each walks one head.
  bool hasOneRound() { return items.ownsQ(); }

  Value numSteps() {
    if (beginsAhead())
      return arith::SelectOp::create(b, hasVisits(), item.getVisits(), index(1));
    if (hasOneRound())
      return item.getVisits();
    return arith::MulIOp::create(b, item.getVisits(), item.getRounds());
  }

  /// The walk's ops for one visit, in the order in which they stand.
  void emitStep(Value round, Value visit, Value use) {
    Type type = b.getIndexType();
    auto read = ReadVisitOp::create(b, type, type, type, type, item.getFirstVisit(), visit,
                                    item.getFirstHead(), round);
    mapping.map(walk.getHead(), read.getHead());
    mapping.map(walk.getTile(), read.getQTile());
    if (!items.ownsQ())
      mapping.map(walk.getTurn(), read.getTurn());
    for (Operation &op : walk.getBody().front().without_terminator()) {
      clone(op, use);
      if (auto reduce = dyn_cast<OrderedReduceOp>(b.getInsertionBlock()->back()))
        reduce.getIsLastMutable().assign(read.getIsLast());
    }
  }

  SmallVector<Value> emitAllSteps(Value firstStep) {
    auto emitRound = [&](Value round, ValueRange carried) {
      return forEach(index(0), item.getVisits(), index(1), carried[0],
                     [&](Value visit, ValueRange use) -> SmallVector<Value> {
                       emitStep(round, visit, use[0]);
                       return {add(use[0], index(1))};
                     });
    };
    if (beginsAhead())
      return emitStepAtLeast([&] { return emitRound(index(0), firstStep); }, firstStep);
    if (hasOneRound())
      return emitRound(index(0), firstStep);
    return forEach(index(0), item.getRounds(), index(1), firstStep, emitRound);
  }

  //===--------------------------------------------------------------------===//
  // Items that begin ahead
  //===--------------------------------------------------------------------===//

  bool beginsAhead() { return cast<WorkersOp>(role->getParentOp()).getBeginsAhead(); }

  Value hasVisits() {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, item.getVisits(), index(1));
  }

  /// A tile behind the rows of every sequence: its copy fills a slot with zeros, and all of its
  /// columns are hidden.
  Value tileBehind(TensorSide side) {
    TilesAttr tiles = items.getTiles();
    int64_t rows = side == TensorSide::Q ? tiles.getQ() : tiles.getKv();
    return index(llvm::divideCeil(maxKernelRows, rows));
  }

  SmallVector<Value> emitStepAtLeast(llvm::function_ref<SmallVector<Value>()> emitVisits,
                                     Value firstStep) {
    auto branch = scf::IfOp::create(b, b.getIndexType(), hasVisits(), /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> behind = emitVisits();
    scf::YieldOp::create(b, behind);
    b.setInsertionPointToStart(branch.elseBlock());
    mapping.map(walk.getHead(), item.getFirstHead());
    mapping.map(walk.getTile(), tileBehind(TensorSide::KV));
    for (Operation &op : walk.getBody().front().without_terminator())
      clone(op, firstStep);
    scf::YieldOp::create(b, add(firstStep, index(1)));
    return llvm::to_vector_of<Value>(branch.getResults());
  }

  /// What consumers begin behind their last item: tiles behind all rows, whose product no op uses.
  LogicalResult emitEnd(Value numItems, ValueRange firstStep) {
    auto workers = cast<WorkersOp>(role->getParentOp());
    FailureOr<ItemBeginning> beginning = failure();
    for (RoleOp other : workers.getRoles())
      if (scf::ForOp loop = findItemsLoop(other); loop && other.isConsumer())
        beginning = findItemBeginning(loop);
    if (failed(beginning))
      return failure();
    Value none = index(0);
    for (BlockArgument argument : items.getBody().getArguments())
      mapping.map(argument, none);
    mapping.map(items.getTile(), tileBehind(TensorSide::Q));
    if (walk) {
      mapping.map(walk.getHead(), none);
      mapping.map(walk.getTile(), tileBehind(TensorSide::KV));
    }
    items.walk([&](Operation *op) {
      if (auto steps = dyn_cast<NumStepsOp>(op))
        mapping.map(steps.getResult(), index(noItemIsLeft));
      auto put = dyn_cast<PutOp>(op);
      if (!put || !beginning->waitsFor(put.getChannel()))
        return;
      for (Value element : put.getElements())
        if (Operation *made = element.getDefiningOp(); made && !isa<NumStepsOp>(made))
          b.clone(*made, mapping);
      clone(*put, put->getParentOp() == walk ? firstStep.front() : numItems);
    });
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Reducers
  //===--------------------------------------------------------------------===//

  /// Warp w of n reducers has the steps whose number over the worker's life is w modulo n, and so a
  /// slot of its own.
  SmallVector<Value> emitOwnSteps(Value firstStep, Value place) {
    int64_t perItem = 0;
    for (auto wait : walk.getBody().getOps<WaitOp>())
      perItem = itemUsesOf(wait);
    Value warps = index(role.getWarps()), first = firstUse(firstStep, place, perItem);
    warp = WarpOfRoleOp::create(b, b.getIndexType());
    Value begin = mod(sub(add(warp, warps), mod(first, warps)), warps), steps = numSteps();
    forEach(begin, steps, warps, inRounds(index(0), begin),
            [&](Value step, ValueRange at) -> SmallVector<Value> {
              emitStep(at[0], at[1], add(first, step));
              return inRounds(at[0], add(at[1], warps));
            });
    nextUse = add(first, steps);
    return {add(firstStep, steps)};
  }

  /// A slot that the item uses behind its walk, from its wait to its release: the warp does it
  /// whose number the use has, as in the walk. So each warp keeps the order of the item's uses,
  /// which is what the schedule's progress is proven for.
  Block::iterator emitOwnUse(Block::iterator wait, Value place) {
    if (!partIsLast) {
      auto part = ReadPartOp::create(b, b.getIndexType(), b.getIndexType(), place);
      mapping.map(items.getTurn(), part.getTurn());
      partIsLast = part.getIsLast();
    }
    Value use = nextUse;
    Value isMine =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, mod(use, index(role.getWarps())), warp);
    auto branch = scf::IfOp::create(b, isMine, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Block::iterator op = wait;
    for (;; ++op) {
      clone(*op, use);
      if (auto reduce = dyn_cast<OrderedReduceOp>(*std::prev(b.getInsertionPoint())))
        reduce.getIsLastMutable().assign(partIsLast);
      if (isa<ReleaseOp>(*op) || std::next(op) == wait->getBlock()->end())
        break;
    }
    b.setInsertionPointAfter(branch);
    nextUse = add(use, index(1));
    return op;
  }

  /// Round and visit, where `visit` is less than all warps behind the end of its round: a division
  /// would cost a role registers that it does not have.
  SmallVector<Value> inRounds(Value round, Value visit) {
    for (int64_t i = 0, warps = role.getWarps(); i < warps; ++i) {
      Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, item.getVisits(), visit);
      round = arith::SelectOp::create(b, isBehind, add(round, index(1)), round);
      visit = arith::SelectOp::create(b, isBehind, sub(visit, item.getVisits()), visit);
    }
    return {round, visit};
  }

  RoleOp role;
  ItemsOp items;
  WalkOp walk;
  ImplicitLocOpBuilder b;
  const ItemUses &itemUses;
  llvm::DenseMap<std::pair<Value, OperationName>, int64_t>
      usesBehind;                  ///< of a consumer, so far; looked up only
  Value warp, nextUse, partIsLast; ///< of a reducer
  ReadItemOp item;
  IRMapping mapping;
};

} // namespace

LogicalResult dash::writeRoleLoops(RoleOp role, const ItemUses &itemUses) {
  return RoleLoops(role, itemUses).run();
}
