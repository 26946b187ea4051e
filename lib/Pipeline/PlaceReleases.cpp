//===- PlaceReleases.cpp - when slots are published and released ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To release a slot, a warp waits for its last reader. To publish one, it waits for its own stores.
// Neither may hold up the tensor core, so both go to a place where that wait happens anyway, or is
// over.
//
//===----------------------------------------------------------------------===//

#include "IssueOrder.h"
#include "dash/IR/Consumers.h"
#include "dash/Pipeline/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::dash {
#define GEN_PASS_DEF_PLACERELEASES
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// The last op of `block` that uses a tile of `get`, at any depth, or lets a result leave through
/// its slot; `get` if there is none. Indices are read at once.
static Operation *findLastReader(WaitOp get, Block *block) {
  Operation *last = get;
  auto consider = [&](Operation *user) {
    if (Operation *op = block->findAncestorOpInBlock(*user); op && last->isBeforeInBlock(op))
      last = op;
  };
  for (Value tile : get.getTiles())
    llvm::for_each(tile.getUsers(), consider);
  for (auto store : block->getOps<StoreOp>())
    if (store.getThrough() == get.getChannel())
      consider(store);
  return last;
}

namespace {

/// Publishes and releases the slots of a walk that has an order of issue.
class OrderedWalk {
public:
  explicit OrderedWalk(WalkOp walk) : walk(walk), order(getIssueOrder(walk)), b(walk) {}

  LogicalResult run(llvm::Statistic &numReleases) {
    if (order.empty())
      return walk.emitError() << "has no order of issue; run --dash-order-products first";
    // Positions are those of the order without the new ops, filled from the end.
    length = order.size();
    for (auto [i, issue] : llvm::enumerate(order))
      positions[issue.op] = i;
    for (const Issue &issue : order) {
      if (auto put = dyn_cast<PutOp>(issue.op); put && !put.isLoad())
        placePublish(put, issue.stage);
    }
    for (const Issue &issue : order)
      if (auto get = dyn_cast<WaitOp>(issue.op)) {
        placeRelease(get);
        ++numReleases;
      }
    SmallVector<Issue> whole;
    for (int64_t i = 0; i <= length; ++i) {
      llvm::append_range(whole, placed[i]);
      if (i < length)
        whole.push_back(order[i]);
    }
    setIssueOrder(walk, whole);
    return success();
  }

private:
  /// Places an op before the one that is issued at `position`.
  template <typename OpT>
  void place(int64_t position, int64_t stage, Operation *like, Value channel) {
    b.setInsertionPoint(walk.getYield());
    placed[position].push_back(
        {OpT::create(b, like->getLoc(), channel, /*use=*/Value(), IntegerAttr()), stage});
  }

  void placePublish(PutOp put, int64_t stage) {
    int64_t at = positions.lookup(put) + 1;
    if (walk->getParentOfType<WorkersOp>().getStructure() == WarpStructure::Overlapping) {
      // Together, after the last put: one fence serves all.
      for (int64_t i = at; i < length; ++i)
        if (isa<PutOp>(order[i].op))
          at = i + 1;
    } else if (put.getChannel().getDefiningOp<ChannelOp>().isExchange()) {
      // After the products that are issued next, which wait for the tensor core and tiles.
      while (at < length && !isa<MatmulOp>(order[at].op))
        ++at;
      if (at == length) { // products of the next iteration
        ++stage;
        for (at = 0; at < length && !isa<MatmulOp>(order[at].op);)
          ++at;
      }
      while (at < length && isa<MatmulOp>(order[at].op))
        ++at;
    } else {
      for (int64_t i = at; i < length; ++i)
        if (isa<GiveTensorCoreOp>(order[i].op))
          at = i + 1;
    }
    place<CommitOp>(at, stage, put, put.getChannel());
  }

  void placeRelease(WaitOp get) {
    Operation *last = get;
    for (Operation *user : get->getUsers())
      if (isa<YieldOp>(user) || timeOf(user) > timeOf(last))
        last = isa<YieldOp>(user) ? last : user;
    int64_t at = positions.lookup(last) + 1;
    // Before whatever waits next: the get of this channel's next tile, the put of the last reader's
    // result, or the op that renews the last reader's factor in registers. Where items own q tiles
    // also the op that takes the last reader's sums, as it follows in the same iteration. Powers
    // come behind the wait: references are found beside this warpgroup's own products, and powers
    // are rounded as they come, beside the other's.
    bool ownsQ = walk->getParentOfType<ItemsOp>().ownsQ();
    for (int64_t i = at; i < length; ++i) {
      Operation *op = order[i].op;
      bool handsOn = llvm::is_contained(last->getUsers(), op) && isa<PutOp>(op);
      bool makesAnew = isa<RoundOp>(op) && llvm::is_contained(op->getUsers(), last);
      bool takesSums = ownsQ && llvm::is_contained(last->getUsers(), op);
      bool isPower = isa<ExponentialOp>(op);
      auto next = dyn_cast<WaitOp>(op);
      if (handsOn || makesAnew || takesSums || isPower ||
          (next && next.getChannel() == get.getChannel())) {
        at = i;
        break;
      }
    }
    place<ReleaseOp>(at, order[positions.lookup(last)].stage, get, get.getChannel());
  }

  int64_t timeOf(Operation *op) const {
    int64_t position = positions.lookup(op);
    return getTime(order[position], position, length);
  }

  WalkOp walk;
  SmallVector<Issue> order;
  OpBuilder b;
  int64_t length = 0;
  llvm::SmallDenseMap<Operation *, int64_t> positions;        // looked up only
  llvm::SmallDenseMap<int64_t, SmallVector<Issue, 2>> placed; // by position, looked up only
};

/// Places what an item does after its walk, and everything in walks without an order of issue.
class ItemReleases {
public:
  explicit ItemReleases(RoleOp role) : role(role), items(role.getItems()), b(role.getContext()) {}

  LogicalResult run(llvm::Statistic &numReleases) {
    if (failed(stageStores()))
      return failure();
    SmallVector<WaitOp> gets;
    items.walk([&](WaitOp get) {
      if (!get.getStageAttr())
        gets.push_back(get);
    });
    for (WaitOp get : gets) {
      b.setInsertionPointAfter(findLastReader(get, get->getBlock()));
      ReleaseOp::create(b, get.getLoc(), get.getChannel(), /*use=*/Value(), IntegerAttr());
      ++numReleases;
    }
    SmallVector<PutOp> puts;
    items.walk([&](PutOp put) {
      if (!put.isLoad() && !put.getStageAttr())
        puts.push_back(put);
    });
    for (PutOp put : puts) {
      b.setInsertionPointAfter(put);
      CommitOp::create(b, put.getLoc(), put.getChannel(), /*use=*/Value(), IntegerAttr());
    }
    return success();
  }

private:
  /// Stores leave through slots that the role fills next and that are empty until then. A result
  /// without a factor goes first: it is copied while the others are multiplied.
  LogicalResult stageStores() {
    SmallVector<StoreOp> stores, scaled;
    for (StoreOp store : items.getBody().getOps<StoreOp>())
      (store.getScale() ? scaled : stores).push_back(store);
    llvm::append_range(stores, scaled);
    SlicesOf numSlices;
    for (StoreOp store : stores) {
      store->moveBefore(&items.getBody().front(), items.getBody().front().end());
      if (Value channel = findWayOut(store, numSlices))
        store.getThroughMutable().assign(channel);
      else
        return store.emitError()
               << "finds no slot to leave through: expected a channel into which role '"
               << role.getName() << "' puts tiles of " << store.getValue().getType().getDimSize(0)
               << " rows of " << store.getTarget().getType().getElementType()
               << ", whose columns are a multiple of " << columnsOfMatrices
               << ", or from which each warpgroup reads only its own rows of a loaded tile";
      int64_t &slices = numSlices[store.getThrough()];
      store.setAhead(slices);
      slices += store.getNumSlices();
    }
    return success();
  }

  /// By channel, of the stores that have a way out; looked up only.
  using SlicesOf = llvm::SmallDenseMap<Value, int64_t, 1>;

  /// The first channel that the result's tile fits, and whose slots the role fills in its steps;
  /// otherwise one that no role fills, and through which no other role's results leave; otherwise
  /// that of a loaded tile of the item.
  Value findWayOut(StoreOp store, const SlicesOf &numSlices) {
    Value channel;
    Type element = store.getTarget().getType().getElementType();
    role.walk([&](PutOp put) {
      if (put.isLoad() || !put->getParentOfType<WalkOp>() ||
          !StoreOp::canLeave(store.getValue().getType(), element, put.getChannel().getType(),
                             /*isLoaded=*/false))
        return WalkResult::advance();
      channel = put.getChannel();
      return WalkResult::interrupt();
    });
    auto isOfOther = [&](Operation *user) { return user->getParentOfType<RoleOp>() != role; };
    for (ChannelOp one : role->getParentOfType<WorkersOp>().getChannels())
      if (!channel && one.isWayOut() && llvm::none_of(one.getResult().getUsers(), isOfOther) &&
          StoreOp::canLeave(store.getValue().getType(), element, one.getType(),
                            /*isLoaded=*/false))
        channel = one;
    return channel ? channel : findLoaded(store, numSlices);
  }

  /// The last one that fits: those in front of it are loaded for the next item meanwhile. One
  /// result takes the place of a tile, and only this role has read that, each warpgroup its rows.
  Value findLoaded(StoreOp store, const SlicesOf &numSlices) {
    Value channel;
    Type element = store.getTarget().getType().getElementType();
    for (auto wait : items.getBody().getOps<WaitOp>()) {
      auto one = wait.getChannel().getDefiningOp<ChannelOp>();
      if (one.isLoaded() && llvm::hasSingleElement(getReaders(one)) &&
          !numSlices.contains(one.getResult()) && readsOwnRows(wait.getTiles().front()) &&
          StoreOp::canLeave(store.getValue().getType(), element, one.getType(),
                            /*isLoaded=*/true))
        channel = one;
    }
    return channel;
  }

  /// Whether warpgroups read as many rows of a tile as they have of results, each its own.
  static bool readsOwnRows(Value tile) {
    return llvm::all_of(tile.getUses(), [](OpOperand &use) {
      auto product = dyn_cast<MatmulOp>(use.getOwner());
      return product && use.get() == product.getA() && use.get() != product.getB() &&
             !product.getTransposeA() && product.getSplitAttr().getColumns() == 1;
    });
  }

  RoleOp role;
  ItemsOp items;
  OpBuilder b;
};

struct PlaceReleases : public dash::impl::PlaceReleasesBase<PlaceReleases> {
  void runOnOperation() override {
    SmallVector<RoleOp> roles;
    getOperation()->walk([&](RoleOp role) { roles.push_back(role); });
    if (roles.empty())
      getOperation()->emitWarning()
          << "no 'dash.role' to place releases in; run --dash-assign-roles first";
    for (RoleOp role : roles) {
      WalkResult placed = role.walk([](Operation *op) {
        return isa<ReleaseOp, CommitOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      });
      if (placed.wasInterrupted()) {
        role.emitError() << "has releases already";
        return signalPassFailure();
      }
      if (!role.getItems()) {
        role.emitError() << "has no 'dash.items' to place releases in; run --dash-assign-roles "
                            "first";
        return signalPassFailure();
      }
      WalkOp walk = role.getWalk();
      if (walk && role.isConsumer() && failed(OrderedWalk(walk).run(numReleases)))
        return signalPassFailure();
      if (failed(ItemReleases(role).run(numReleases)))
        return signalPassFailure();
    }
  }
};

} // namespace
