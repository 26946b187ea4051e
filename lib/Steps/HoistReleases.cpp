//===- HoistReleases.cpp - release a slot after its last reader -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Different products are the last to read K and V of an item, in different branches once walks are
// peeled. If each has one slot, the next item's copy into it begins with its release. So the
// release should directly follow the last op that reads the slot. A product reads until it is
// complete: the release goes before the first op that needs its sums, where the wait happens
// anyway. What threads have read must be fenced from the next copy: then the release follows the
// next commit, which has a fence. In a role without commits a fence is the release's own, so it
// follows the loads at once, if nothing else reads the slot.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/Steps/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dash {
#define GEN_PASS_DEF_HOISTRELEASES
#include "dash/Steps/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The ops of a role that read a channel of which an item uses one slot.
class SlotReaders {
public:
  SlotReaders(RoleOp role, Value channel) {
    for (Operation *user : channel.getUsers())
      if (!role->isProperAncestor(user)) {
        continue; // another reader, which releases by itself
      } else if (auto wait = dyn_cast<WaitOp>(user)) {
        addTiles(wait, wait.getTiles());
        // if a mask cuts a tile, the slot's indices are read again
        for (Value index : wait.getIndices())
          for (Operation *hide : index.getUsers())
            if (isa<HideOp>(hide)) {
              readers.insert(hide);
              isReadOtherwise = true;
            }
      } else if (auto held = dyn_cast<HeldOp>(user)) {
        addTiles(held, held.getTiles());
      } else if (isa<StoreOp>(user)) { // a result leaves through the slot
        readers.insert(user);
        isReadOtherwise = true;
      }
    role.walk([&](CommitOp) { hasCommits = true; });
  }

  void hoist(ReleaseOp release) const {
    Block *block = release->getBlock();
    if (Operation *load = findOnlyLoad(); load && load->getBlock() == block && !hasCommits)
      return release->moveAfter(findFirstProduct(load));
    Operation *last = nullptr;
    for (Operation &op : llvm::make_range(block->begin(), release->getIterator()))
      if (contains(&op))
        last = &op;
    if (!last) // the branch of an item without steps, which has waited too
      return;
    auto branch = dyn_cast<scf::IfOp>(last);
    if (!branch || branch.getElseRegion().empty() ||
        !isFencedBehind(branch, isFencedBefore(branch))) {
      move(release, last);
      return;
    }
    for (Region &region : branch->getRegions()) {
      auto b = OpBuilder::atBlockTerminator(&region.front());
      hoist(cast<ReleaseOp>(b.clone(*release)));
    }
    release.erase();
  }

private:
  static bool isLoad(const SlotAccess &access) {
    return access.kind == AccessKind::Read && access.by == AccessAgent::Threads && access.tile;
  }

  void addTiles(Operation *op, ValueRange tiles) {
    readers.insert(op);
    for (Value tile : tiles)
      for (Operation *user : tile.getUsers()) {
        readers.insert(user);
        if (llvm::any_of(accessesOf(user), isLoad)) {
          loads.insert(user);
          readers.insert(user->user_begin(), user->user_end());
        } else {
          isReadOtherwise = true;
        }
      }
  }

  /// The first product of what has been loaded if it follows in the block, else the load: a fence
  /// costs less beside a product.
  static Operation *findFirstProduct(Operation *load) {
    Operation *first = load;
    for (Operation *user : load->getUsers())
      if (user->getBlock() == load->getBlock() && isa<MatmulOp>(user) &&
          (first == load || user->isBeforeInBlock(first)))
        first = user;
    return first;
  }

  /// The load of the slot into registers, if nothing else reads it.
  Operation *findOnlyLoad() const {
    return loads.size() == 1 && !isReadOtherwise ? *loads.begin() : nullptr;
  }

  bool contains(Operation *op) const {
    return op
        ->walk([&](Operation *inner) {
          return readers.contains(inner) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Whether a fence (a commit has one) follows all loads of the slot into registers, on every path
  /// that ends after the op.
  bool isFencedBehind(Operation *op, bool isFenced) const {
    auto isFence = [](const Sync &sync) { return sync.kind == SyncKind::FenceShared; };
    if (isa<CommitOp>(op) || llvm::any_of(syncsOf(op), isFence))
      return true;
    if (loads.contains(op))
      return false;
    bool isEither = isa<scf::IfOp>(op) && !cast<scf::IfOp>(op).getElseRegion().empty();
    bool result = isEither || isFenced;
    for (Region &region : op->getRegions()) {
      bool isInside = isFenced;
      for (Operation &inner : region.getOps())
        isInside = isFencedBehind(&inner, isInside);
      result &= isInside;
    }
    return result;
  }

  /// The same before the op. Earlier items have released their slots.
  bool isFencedBefore(Operation *op) const {
    Operation *parent = op->getParentOp();
    bool isFenced = isa<RoleOp>(parent) || isFencedBefore(parent);
    for (Operation &before : llvm::make_range(op->getBlock()->begin(), op->getIterator()))
      isFenced = isFencedBehind(&before, isFenced);
    return isFenced;
  }

  /// Moves the release up to the first place after all reads by `last`; leaves it if there is none.
  void move(ReleaseOp release, Operation *last) const {
    bool isProduct = isa<MatmulOp>(last), isFenced = isFencedBefore(last);
    for (Operation *op = last; op != release; op = op->getNextNode()) {
      isFenced = isFencedBehind(op, isFenced);
      bool isComplete =
          !isProduct || (loads.empty() ? llvm::is_contained(last->getUsers(), op->getNextNode())
                                       : isa<CommitOp>(op));
      if (isFenced && isComplete)
        return release->moveAfter(op);
    }
  }

  llvm::SmallPtrSet<Operation *, 16> readers; ///< looked up only
  llvm::SmallPtrSet<Operation *, 4> loads;    ///< those by threads; looked up only
  bool isReadOtherwise = false;
  bool hasCommits = false; ///< in the role, and with them fences
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
      // An item's number in its worker's list numbers the uses of channels of which an item uses
      // one slot.
      auto loops = role.getBody().getOps<scf::ForOp>();
      if (loops.empty())
        return;
      Value itemNumber = (*loops.begin()).getInductionVar();
      SmallVector<ReleaseOp> releases;
      role.walk([&](ReleaseOp release) {
        if (release.getUse() == itemNumber)
          releases.push_back(release);
      });
      for (ReleaseOp release : releases)
        SlotReaders(role, release.getChannel()).hoist(release);
    });
  }
};

} // namespace
