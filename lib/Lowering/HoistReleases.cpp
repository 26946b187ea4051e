//===- HoistReleases.cpp - give a slot back behind its last reader --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// K and V of an item are read last by different products, in different branches once walks are peeled. Where each has one slot, the
// next item's copy into it begins with its release, so that stands behind the last op that reads the slot. A product reads
// until it is complete: the release goes in front of the first op that needs its sums, where it is waited for anyway.
// What threads have read has to be fenced from the next copy: then the release stands behind the next commit, which has a fence.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/Lowering/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dash {
#define GEN_PASS_DEF_HOISTRELEASES
#include "dash/Lowering/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The releases of a channel of which an item uses one slot.
class ItemSlot {
public:
  explicit ItemSlot(Value channel) {
    for (Operation *user : channel.getUsers())
      if (auto wait = dyn_cast<WaitOp>(user)) {
        addTiles(wait, wait.getTiles());
        for (Value index : wait.getIndices()) // where a mask is cut, the slot tells again where
          for (Operation *hide : index.getUsers())
            if (isa<HideOp>(hide))
              readers.insert(hide);
      } else if (auto held = dyn_cast<HeldOp>(user)) {
        addTiles(held, held.getTiles());
      }
  }

  void hoist(ReleaseOp release) const {
    Block *block = release->getBlock();
    Operation *last = nullptr;
    for (Operation &op : llvm::make_range(block->begin(), release->getIterator()))
      if (contains(&op))
        last = &op;
    if (!last) // the branch of an item without steps, which has waited all the same
      return;
    auto branch = dyn_cast<scf::IfOp>(last);
    if (!branch || branch.getElseRegion().empty()) {
      release->moveAfter(findPlace(last, release));
      return;
    }
    for (Region &region : branch->getRegions()) {
      auto b = OpBuilder::atBlockTerminator(&region.front());
      hoist(cast<ReleaseOp>(b.clone(*release)));
    }
    release.erase();
  }

private:
  void addTiles(Operation *op, ValueRange tiles) {
    readers.insert(op);
    for (Value tile : tiles)
      for (Operation *user : tile.getUsers()) {
        readers.insert(user);
        if (auto load = dyn_cast<LoadFactorOp>(user)) {
          isReadByThreads = true;
          readers.insert(load->user_begin(), load->user_end());
        }
      }
  }

  bool contains(Operation *op) const {
    return op
        ->walk([&](Operation *inner) {
          return readers.contains(inner) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The op behind which the release may stand, of a slot that `last` reads last.
  Operation *findPlace(Operation *last, ReleaseOp release) const {
    auto isPlace = [&](Operation *op) {
      return isReadByThreads ? isa<CommitOp>(op)
                             : llvm::is_contained(last->getUsers(), op->getNextNode());
    };
    Operation *place = last;
    if (isa<MatmulOp>(last))
      while (place->getNextNode() != release && !isPlace(place))
        place = place->getNextNode();
    return place;
  }

  llvm::SmallPtrSet<Operation *, 16> readers; ///< looked up only
  bool isReadByThreads = false;
};

struct HoistReleases : public dash::impl::HoistReleasesBase<HoistReleases> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](RoleOp role) -> WalkResult {
      if (role.isConsumer() && role.getItems())
        return role.emitError("has items that are not loops yet; run --dash-read-order first");
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    getOperation()->walk([&](RoleOp role) {
      if (!role.isConsumer())
        return;
      SmallVector<ReleaseOp> releases;
      role.walk([&](ReleaseOp release) {
        if (release.getUse() == getPlace(role))
          releases.push_back(release);
      });
      for (ReleaseOp release : releases)
        ItemSlot(release.getChannel()).hoist(release);
    });
  }

private:
  /// The number of an item in its worker's list, which numbers the uses of channels of which an item uses one slot.
  static Value getPlace(RoleOp role) {
    auto loops = role.getBody().getOps<scf::ForOp>();
    return loops.empty() ? Value() : (*loops.begin()).getInductionVar();
  }
};

} // namespace
