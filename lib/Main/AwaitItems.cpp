//===- AwaitItems.cpp - consumers go on until they are told to end --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Consumers that begin items ahead have begun one behind the last, whose number of steps is below
// 0. So they need not count: they go on while an item has steps, and then release its slots. ptxas
// serializes the products of a loop that carries one, unless a path with an effect leads around
// them; that of the end does.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/ItemsLoop.h"
#include "dash/IR/SlotHeader.h"
#include "dash/Main/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {
#define GEN_PASS_DEF_AWAITITEMS
#include "dash/Main/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Makes a consumer's loop over items one that ends when it is told to. It carries the number of
/// items so far in front of what the loop carries.
class UntilTold {
public:
  explicit UntilTold(scf::ForOp loop) : loop(loop), b(loop.getLoc(), loop) {}

  LogicalResult run() {
    size_t steps = findSteps();
    if (steps == loop.getInitArgs().size())
      return loop.emitError() << "carries no number of steps, which says where items end; run "
                                 "--dash-begin-items first";
    SmallVector<Value> inits = {loop.getLowerBound()};
    llvm::append_range(inits, loop.getInitArgs());
    TypeRange types = ValueRange(inits).getTypes();
    auto made = scf::WhileOp::create(b, types, inits);
    SmallVector<Location> locations(inits.size(), loop.getLoc());
    Block *turn = b.createBlock(&made.getBefore(), {}, types, locations);
    Value isItem = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, turn->getArgument(1 + steps),
                                         arith::ConstantIndexOp::create(b, 0));
    auto branch = scf::IfOp::create(b, types, isItem, /*addThenBlock=*/true, /*addElseBlock=*/true);
    scf::ConditionOp::create(b, isItem, branch.getResults());
    Block *again = b.createBlock(&made.getAfter(), {}, types, locations);
    scf::YieldOp::create(b, again->getArguments());
    moveItem(branch.thenBlock(), turn->getArguments());
    moveEnd(branch.elseBlock(), turn->getArguments());
    auto numItems = loop.getUpperBound().getDefiningOp<NumItemsOp>();
    loop.erase();
    if (numItems->use_empty())
      numItems->erase();
    return success();
  }

private:
  /// Which of the carried numbers says how many steps the item has that has begun.
  size_t findSteps() {
    auto isTold = [](Value init) {
      auto told = init.getDefiningOp<ReadIndicesOp>();
      return told && told.getIndices().size() > unsigned(ItemIndex::Tile) &&
             told.getIndices()[unsigned(ItemIndex::NumSteps)] == init;
    };
    return std::distance(loop.getInitArgs().begin(), llvm::find_if(loop.getInitArgs(), isTold));
  }

  void moveItem(Block *to, ValueRange carried) {
    Block *body = loop.getBody();
    loop.getInductionVar().replaceAllUsesWith(carried.front());
    for (auto [old, argument] : llvm::zip_equal(loop.getRegionIterArgs(), carried.drop_front()))
      old.replaceAllUsesWith(argument);
    auto yield = cast<scf::YieldOp>(body->getTerminator());
    to->getOperations().splice(to->end(), body->getOperations());
    b.setInsertionPoint(yield);
    SmallVector<Value> next = {arith::AddIOp::create(b, carried.front(), loop.getStep())};
    llvm::append_range(next, yield.getOperands());
    yield->setOperands(next);
  }

  /// What follows the loop releases the slots of the item behind the last.
  void moveEnd(Block *to, ValueRange carried) {
    b.setInsertionPointToEnd(to);
    IRMapping mapping;
    mapping.map(loop.getUpperBound(), carried.front());
    mapping.map(loop.getResults(), carried.drop_front());
    SmallVector<Operation *> moved;
    for (Operation *op = loop->getNextNode(); isa_and_present<RingOp, MbarrierArriveOp>(op);
         op = op->getNextNode())
      moved.push_back(op);
    for (Operation *op : moved)
      b.clone(*op, mapping);
    for (Operation *op : llvm::reverse(moved))
      op->erase();
    // Numbers stay; a tile that nothing reads would be carried in registers.
    SmallVector<Value> left;
    for (Value value : carried)
      if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
        left.push_back(arith::ConstantOp::create(b, tile, b.getZeroAttr(tile)));
      else
        left.push_back(value);
    scf::YieldOp::create(b, left);
  }

  scf::ForOp loop;
  ImplicitLocOpBuilder b;
};

struct AwaitItems : public dash::impl::AwaitItemsBase<AwaitItems> {
  void runOnOperation() override {
    FailureOr<SmallVector<scf::ForOp>> loops = findLoopsAhead(getOperation());
    if (failed(loops))
      return signalPassFailure();
    for (scf::ForOp loop : *loops) {
      if (failed(UntilTold(loop).run()))
        return signalPassFailure();
      ++numChanged;
    }
  }
};

} // namespace
