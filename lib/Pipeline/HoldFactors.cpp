//===- HoldFactors.cpp - factors that stay in registers for an item -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// K and V are the left factors of S and dP in every step of an item. From shared memory the tensor
// core reads them again for each step, in the bandwidth that everything else there needs too; a
// warpgroup's rows of them are few registers at small head dims. Which of them stay is a choice of
// the tiling.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/Pipeline/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallPtrSet.h"

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
    WalkResult result = getOperation()->walk([&](WorkersOp workers) {
      hasWorkers = true;
      return failed(hold(workers)) ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!hasWorkers)
      getOperation()->emitWarning()
          << "no 'dash.workers' with factors to hold; run --dash-assign-roles first";
  }

private:
  /// A consumer may wait for a held tile that another one reads, for what its slot says.
  LogicalResult hold(WorkersOp workers) {
    SmallPtrSet<Operation *, 2> read; // channels; looked up only
    for (RoleOp role : workers.getRoles())
      if (WalkOp walk = role.getWalk(); walk && role.isConsumer())
        if (failed(hold(role, walk, read)))
          return failure();
    for (ChannelOp channel : workers.getChannels())
      if (channel.getHeld() && !read.contains(channel))
        return refuse(channel);
    return success();
  }

  static LogicalResult refuse(ChannelOp channel) {
    return channel.emitError() << "is held, but no product of the walk reads its tile by rows, as "
                                  "a left factor that is not transposed";
  }

  /// The tiles of the item whose channels are held.
  LogicalResult hold(RoleOp role, WalkOp walk, SmallPtrSetImpl<Operation *> &read) {
    OpBuilder b(walk);
    for (auto wait : role.getItems().getBody().getOps<WaitOp>()) {
      auto channel = wait.getChannel().getDefiningOp<ChannelOp>();
      if (!channel.getHeld())
        continue;
      for (Value tile : wait.getTiles()) {
        if (tile.use_empty())
          continue;
        SmallVector<OpOperand *> uses = findUsesByRows(tile, walk);
        if (uses.empty())
          return refuse(channel);
        read.insert(channel);
        auto held = LoadFactorOp::create(b, tile.getLoc(), tile.getType(), tile);
        for (OpOperand *use : uses)
          use->set(held);
        ++numHeld;
      }
    }
    return success();
  }
};

} // namespace
