//===- HandOutItems.cpp - items that are drawn while a program runs -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop over a worker's list becomes a loop until no item is left, in the role that loads: only
// that one draws. Consumers are told where items end anyway. So handing out costs them nothing.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/ItemsLoop.h"
#include "dash/Main/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {
#define GEN_PASS_DEF_HANDOUTITEMS
#include "dash/Main/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Replaces the loop by a `scf.while`. In front of what the loop carries, it carries the number of
/// items so far and the place of the next one. That is drawn when all of this one is on its way: a
/// draw ahead of time would leave a short item waiting behind a long one.
static void drawItems(scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value first = DrawItemOp::create(b, b.getIndexType(), true);
  SmallVector<Value> inits = {loop.getLowerBound(), first};
  llvm::append_range(inits, loop.getInitArgs());
  TypeRange types = ValueRange(inits).getTypes();
  SmallVector<Location> locations(inits.size(), loop.getLoc());
  auto made = scf::WhileOp::create(b, types, inits);
  Block *before = b.createBlock(&made.getBefore(), {}, types, locations);
  // read again for each item: the role has no register to keep it
  Value items = NumItemsOp::create(b, b.getIndexType());
  Value isLeft = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, before->getArgument(1), items);
  scf::ConditionOp::create(b, isLeft, before->getArguments());

  Block *after = b.createBlock(&made.getAfter(), {}, types, locations);
  Value count = after->getArgument(0), place = after->getArgument(1);
  Block *body = loop.getBody();
  for (auto read : body->getOps<ReadItemOp>())
    read.getPlaceMutable().assign(place);
  loop.getInductionVar().replaceAllUsesWith(count);
  for (auto [old, argument] :
       llvm::zip_equal(loop.getRegionIterArgs(), after->getArguments().drop_front(2)))
    old.replaceAllUsesWith(argument);
  after->getOperations().splice(after->end(), body->getOperations());
  auto yield = cast<scf::YieldOp>(after->getTerminator());
  b.setInsertionPoint(yield);
  SmallVector<Value> next = {arith::AddIOp::create(b, count, loop.getStep()),
                             DrawItemOp::create(b, b.getIndexType(), /*first=*/false)};
  llvm::append_range(next, yield.getOperands());
  yield->setOperands(next);

  // The number of items is known behind the loop only.
  loop.replaceAllUsesWith(made.getResults().drop_front(2));
  auto numItems = loop.getUpperBound().getDefiningOp<NumItemsOp>();
  loop.erase();
  numItems.getResult().replaceAllUsesWith(made.getResult(0));
  numItems.erase();
}

namespace {

struct HandOutItems : public dash::impl::HandOutItemsBase<HandOutItems> {
  using HandOutItemsBase::HandOutItemsBase;

  void runOnOperation() override {
    SmallVector<RoleOp> producers;
    getOperation()->walk([&](RoleOp role) {
      if (!role.isConsumer() && cast<WorkersOp>(role->getParentOp()).getHandsOut())
        producers.push_back(role);
    });
    for (RoleOp role : producers) {
      scf::ForOp loop = findItemsLoop(role);
      if (!loop) {
        role.emitError() << "has no loop over items; run --dash-read-order first";
        return signalPassFailure();
      }
      drawItems(loop);
      ++numHandedOut;
    }
  }
};

} // namespace
