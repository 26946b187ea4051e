//===- HoldFactors.cpp - factors that stay in registers for an item -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// K and V are the left factors of S and dP in every step of an item. From shared memory, the tensor
// core reads them again in each step, in bandwidth that everything else there needs too. A
// warpgroup's rows of them take few registers at small head dims. dash-check-resources counts all
// registers; this pass uses the same estimate.
//
//===----------------------------------------------------------------------===//

#include "RegisterEstimate.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Pipeline/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dash {
#define GEN_PASS_DEF_HOLDFACTORS
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// The products of the walk that read the tile by rows, as their left factor: each warpgroup reads
/// the rows of its own results.
static SmallVector<OpOperand *> findUsesByRows(Value tile, WalkOp walk) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : tile.getUses())
    if (auto product = dyn_cast<MatmulOp>(use.getOwner());
        product && product->getParentOp() == walk && &use == &product.getAMutable() &&
        !product.getTransposeA())
      uses.push_back(&use);
  return uses;
}

namespace {

struct HoldFactors : public dash::impl::HoldFactorsBase<HoldFactors> {
  void runOnOperation() override {
    bool hasWorkers = false;
    WalkResult result = getOperation()->walk([&](RoleOp role) {
      hasWorkers = true;
      WalkOp walk = role.getWalk();
      if (!walk || !role.isConsumer())
        return WalkResult::advance();
      if (!role.getRegisters()) {
        role.emitError() << "has no number of registers; run --dash-plan-buffers first";
        return WalkResult::interrupt();
      }
      hold(role, walk);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!hasWorkers)
      getOperation()->emitWarning()
          << "no 'dash.workers' with factors to hold; run --dash-assign-roles first";
  }

private:
  /// Holds as many tiles of the item as there are registers for. First the tiles that the walk
  /// reads nowhere else: their slots are free once they are held. Then the others, each in order.
  void hold(RoleOp role, WalkOp walk) {
    int64_t threads = role.getWarps() * threadsOfWarp, most = *role.getRegisters();
    int64_t room = most - estimateRegisters(walk, threads).total();
    SmallVector<Value> tiles;
    for (auto wait : role.getItems().getBody().getOps<WaitOp>())
      llvm::append_range(tiles, wait.getTiles());
    llvm::DenseSet<Value> chosen; // looked up only
    for (bool staysInSlot : {false, true})
      for (Value tile : tiles) {
        SmallVector<OpOperand *> uses = findUsesByRows(tile, walk);
        bool isReadElsewhere = llvm::any_of(tile.getUses(), [&](OpOperand &use) {
          return walk->isAncestor(use.getOwner()) && !llvm::is_contained(uses, &use);
        });
        if (uses.empty() || isReadElsewhere != staysInSlot || registersOf(tile, threads) > room)
          continue;
        room -= registersOf(tile, threads);
        chosen.insert(tile);
      }
    OpBuilder b(walk);
    for (Value tile : tiles) {
      if (!chosen.contains(tile))
        continue;
      SmallVector<OpOperand *> uses = findUsesByRows(tile, walk);
      auto held = LoadFactorOp::create(b, tile.getLoc(), tile.getType(), tile);
      for (OpOperand *use : uses)
        use->set(held);
      ++numHeld;
    }
  }
};

} // namespace
