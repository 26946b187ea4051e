//===- SinkWaits.cpp - wait where a slot is first read --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// K and V of an item are put one after the other, but V is needed one product later, when it has
// arrived. Values that are loaded from such a slot into registers for the whole item move with the
// wait. A slot with a header (indices), or with rows that go to registers in each step, is waited
// for in place. The slot through which a result has left is filled last: its rows move with it. If
// an item without steps loads a slot for the whole item, a fence must separate that from the next
// copy into the slot. Items with steps have a fence after their first product anyway.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/Steps/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dash {
#define GEN_PASS_DEF_SINKWAITS
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

static bool isForProducts(WaitOp wait) {
  return wait.getIndices().empty() && llvm::all_of(wait.getTiles(), [](Value tile) {
           return cast<RankedTensorType>(tile.getType()).getRank() == 2;
         });
}

/// Whether a result of the item leaves through the slot, which has no header.
static bool isFilledLast(WaitOp wait) {
  return wait.getIndices().empty() && llvm::any_of(wait.getChannel().getUsers(), [](auto *user) {
           auto store = dyn_cast<StoreOp>(user);
           return store && store.isThroughLoaded();
         });
}

/// The first op after `op` that uses its results or, if `op` is a wait, its channel; else the
/// block's last op.
static Operation *findFirstReader(Operation *op) {
  Block *block = op->getBlock();
  Operation *first = block->mightHaveTerminator() ? block->getTerminator() : &block->back();
  auto consider = [&](Operation *user) {
    if (Operation *reader = block->findAncestorOpInBlock(*user);
        reader && op->isBeforeInBlock(reader) && reader->isBeforeInBlock(first))
      first = reader;
  };
  for (Operation *user : op->getUsers())
    consider(user);
  if (auto wait = dyn_cast<WaitOp>(op))
    for (Operation *user : wait.getChannel().getUsers())
      consider(user);
  return first;
}

/// Moves a load into the branches that use it, and after them if something else uses it.
static void sink(LoadFactorOp load) {
  Operation *first = findFirstReader(load);
  auto branch = dyn_cast<scf::IfOp>(first);
  if (!branch) {
    load->moveBefore(first);
    return;
  }
  OpBuilder b(branch);
  for (Region &region : branch->getRegions()) {
    auto isInside = [&](OpOperand &use) {
      return region.isAncestor(use.getOwner()->getParentRegion());
    };
    if (llvm::none_of(load->getUses(), isInside))
      continue;
    b.setInsertionPointToStart(&region.front());
    auto copy = cast<LoadFactorOp>(b.clone(*load));
    load.getResult().replaceUsesWithIf(copy.getResult(), isInside);
    sink(copy);
  }
  load->moveAfter(branch);
  if (load->use_empty())
    load->erase();
  else
    sink(load);
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
  if (!wait.use_empty()) { // after the branches, the slot has arrived either way
    b.setInsertionPointAfter(branch);
    auto held = HeldOp::create(b, wait.getLoc(), wait.getTiles().getTypes(), wait.getChannel(),
                               wait.getUse());
    wait->replaceAllUsesWith(held->getResults());
  }
  wait.erase();
  for (WaitOp copy : copies)
    sink(copy);
}

/// Adds the fence in branches that do not use the load, if another branch does.
static void fenceUnused(LoadFactorOp load, scf::IfOp branch) {
  auto isUsedIn = [&](Region &region) {
    return llvm::any_of(load->getUsers(), [&](Operation *user) {
      return region.isAncestor(user->getParentRegion());
    });
  };
  if (llvm::none_of(branch->getRegions(), isUsedIn))
    return;
  for (Region &region : branch->getRegions()) {
    for (auto inner : region.getOps<scf::IfOp>())
      fenceUnused(load, inner);
    if (region.empty() || isUsedIn(region))
      continue;
    OpBuilder b = OpBuilder::atBlockTerminator(&region.front());
    NVVM::FenceProxyOp::create(
        b, load.getLoc(), NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta));
  }
}

static void sinkWaits(RoleOp consumer) {
  SmallVector<LoadFactorOp> loads;
  SmallVector<WaitOp> waits;
  consumer.walk([&](LoadFactorOp load) {
    if (auto wait = load.getTile().getDefiningOp<WaitOp>(); wait && isForProducts(wait))
      loads.push_back(load);
  });
  for (LoadFactorOp load : loads)
    sink(load);
  consumer.walk([](LoadFactorOp load) {
    if (auto branch = dyn_cast<scf::IfOp>(findFirstReader(load)))
      fenceUnused(load, branch);
  });
  consumer.walk([&](WaitOp wait) {
    if (isForProducts(wait) || isFilledLast(wait))
      waits.push_back(wait);
  });
  for (WaitOp wait : waits)
    sink(wait);
}

namespace {

struct SinkWaits : public dash::impl::SinkWaitsBase<SinkWaits> {
  void runOnOperation() override {
    SmallVector<RoleOp> consumers;
    WalkResult result = getOperation()->walk([&](RoleOp role) -> WalkResult {
      if (!role.isConsumer())
        return WalkResult::advance();
      consumers.push_back(role);
      if (role.getItems())
        return role.emitError("has items that are not loops yet; run --dash-read-order first");
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (RoleOp consumer : consumers)
      sinkWaits(consumer);
  }
};

} // namespace
