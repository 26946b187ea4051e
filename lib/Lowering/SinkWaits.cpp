//===- SinkWaits.cpp - wait where a slot is first read --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// K and V of an item are put one after the other, but V is needed a product later: by then it has come. What tells a
// consumer something (indices) or goes to registers (rows) is waited for where it stands.
//
//===----------------------------------------------------------------------===//

#include "SinkWaits.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dash;

static bool isForProducts(WaitOp wait) {
  return wait.getIndices().empty() && llvm::all_of(wait.getTiles(), [](Value tile) {
           return cast<RankedTensorType>(tile.getType()).getRank() == 2;
         });
}

/// The first op behind the wait that reads the slot, or that deals with it in another way; else the block's last.
static Operation *findFirstReader(WaitOp wait) {
  Block *block = wait->getBlock();
  Operation *first = block->mightHaveTerminator() ? block->getTerminator() : &block->back();
  auto consider = [&](Operation *user) {
    if (Operation *op = block->findAncestorOpInBlock(*user);
        op && wait->isBeforeInBlock(op) && op->isBeforeInBlock(first))
      first = op;
  };
  for (Operation *user : wait->getUsers())
    consider(user);
  for (Operation *user : wait.getChannel().getUsers())
    consider(user);
  return first;
}

static void sink(WaitOp wait) {
  Operation *first = findFirstReader(wait);
  auto branch = dyn_cast<scf::IfOp>(first);
  if (!branch || branch.getElseRegion().empty()) {
    if (first != wait)
      wait->moveBefore(first);
    return;
  }
  OpBuilder b(branch);
  SmallVector<WaitOp> copies;
  for (Region &region : branch->getRegions()) {
    b.setInsertionPointToStart(&region.front());
    auto copy = cast<WaitOp>(b.clone(*wait));
    for (auto [tile, other] : llvm::zip_equal(wait.getTiles(), copy.getTiles()))
      tile.replaceUsesWithIf(other, [&](OpOperand &use) {
        return region.isAncestor(use.getOwner()->getParentRegion());
      });
    copies.push_back(copy);
  }
  if (!wait.use_empty()) { // behind the branches the slot has come in either case
    b.setInsertionPointAfter(branch);
    auto held = HeldOp::create(b, wait.getLoc(), wait.getTiles().getTypes(), wait.getChannel(),
                               wait.getUse());
    wait->replaceAllUsesWith(held->getResults());
  }
  wait.erase();
  for (WaitOp copy : copies)
    sink(copy);
}

void dash::sinkWaits(RoleOp consumer) {
  SmallVector<WaitOp> waits;
  consumer.walk([&](WaitOp wait) {
    if (isForProducts(wait))
      waits.push_back(wait);
  });
  for (WaitOp wait : waits)
    sink(wait);
}
