//===- SkipHiddenSteps.cpp - no products for tiles that are all hidden ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An item's kv tiles are those that some row of its q tile sees. The rows of one warpgroup may see
// fewer: at the diagonal, a warpgroup of earlier rows would multiply a tile that is all hidden. It
// leaves such steps at the end of an item to the others.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/Steps/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dash {
#define GEN_PASS_DEF_SKIPHIDDENSTEPS
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The loop over the steps of an item in which a consumer multiplies.
class StepsLoop {
public:
  StepsLoop(scf::ForOp loop, ItemsOp items) : loop(loop), items(items) {
    for (auto wait : loop.getBody()->getOps<WaitOp>())
      waits.insert({wait.getChannel(), wait});
  }

  /// Whether a warpgroup has rows of its own, and no product reads a tile of the step before, whose
  /// slot is held beyond the loop.
  bool mayEndEarly() {
    auto isByRows = [](MatmulOp product) {
      return !product.getSplit() || product.getSplit()->getColumns() == 1;
    };
    return llvm::all_of(loop.getBody()->getOps<MatmulOp>(), isByRows) &&
           loop.getBody()->getOps<HeldOp>().empty() && mostHidden() > 0;
  }

  /// The most steps that may be left out: while a warpgroup waits for slots of later steps, it
  /// holds the slot of its last product.
  int64_t mostHidden() const {
    int64_t slots = std::numeric_limits<int64_t>::max();
    for (auto [channel, wait] : waits)
      slots = std::min<int64_t>(slots, channel.getDefiningOp<ChannelOp>().getDepth());
    return waits.empty() ? 0 : slots - 1;
  }

  /// The mask's edge in the tile of the item's first step, or null.
  Value findLead() const {
    for (Operation *op = loop; op; op = op->getPrevNode())
      if (auto hide = dyn_cast<HideOp>(op); hide && hide.getQRows())
        if (auto wait = hide.getLead().getDefiningOp<WaitOp>();
            wait && wait.getUse() && matchPattern(wait.getUse(), m_Zero()))
          return hide.getLead();
    return Value();
  }

  void endEarly(Value lead) {
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    Value steps = loop.getUpperBound();
    auto seen = VisibleStepsOp::create(b, b.getIndexType(), steps, lead, items.getTiles(),
                                       uint64_t(mostHidden()));
    steps.replaceUsesWithIf(seen, [&](OpOperand &use) {
      Operation *user = loop->getBlock()->findAncestorOpInBlock(*use.getOwner());
      return user == loop ? use.getOwner() == loop : user && loop->isBeforeInBlock(user);
    });
    b.setInsertionPointAfter(loop);
    auto left = scf::ForOp::create(b, seen, steps, loop.getStep());
    b.setInsertionPointToStart(left.getBody());
    giveOn(b, left.getInductionVar());
  }

private:
  /// What a step owes to others.
  void giveOn(ImplicitLocOpBuilder &b, Value step) {
    if (!loop.getBody()->getOps<TakeTensorCoreOp>().empty()) {
      TakeTensorCoreOp::create(b, IntegerAttr());
      GiveTensorCoreOp::create(b, IntegerAttr());
    }
    for (auto [channel, wait] : waits) {
      WaitOp::create(b, wait->getResultTypes(), channel, step, IntegerAttr());
      ReleaseOp::create(b, channel, step, IntegerAttr());
    }
  }

  scf::ForOp loop;
  ItemsOp items;
  llvm::SmallMapVector<Value, WaitOp, 2> waits; ///< by channel
};

struct SkipHiddenSteps : public dash::impl::SkipHiddenStepsBase<SkipHiddenSteps> {
  void runOnOperation() override {
    getOperation()->walk([&](RoleOp role) {
      ItemsOp items = role.getItems();
      if (!role.isConsumer() || !items || !items.ownsQ() || !hidesBehind(items.getMask()))
        return;
      SmallVector<scf::ForOp> loops;
      items.walk([&](scf::ForOp loop) {
        if (!loop.getBody()->getOps<MatmulOp>().empty() &&
            loop.getUpperBound().getDefiningOp<WaitOp>())
          loops.push_back(loop);
      });
      for (scf::ForOp loop : loops) {
        StepsLoop steps(loop, items);
        Value lead = steps.findLead();
        if (!lead || !steps.mayEndEarly())
          continue;
        steps.endEarly(lead);
        ++numSkipping;
      }
    });
  }

private:
  static bool hidesBehind(MaskAttr mask) {
    return mask.getBand().right >= 0 && mask.getRules().empty();
  }
};

} // namespace
