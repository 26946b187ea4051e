//===- RoleWaits.cpp - every wait, fence and arrival of a role as an op ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products are issued where they stand. Waits for them stand where the next op needs their sums, or
// the slots they read: the order of the ops determines what overlaps. No product is in flight at
// the start or end of a branch or loop, because there nothing would say whose registers its sums
// are in.
//
//===----------------------------------------------------------------------===//

#include "RoleWaits.h"
#include "ProductsInFlight.h"
#include "PutsFollowing.h"
#include "ResultsLeaving.h"
#include "dash/Steps/SlotUse.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

class RoleWaits {
public:
  RoleWaits(RoleOp role, bool threadsArrive)
      : role(role), scope(!role.isConsumer() ? ArriveScope::Thread
                          : threadsArrive    ? ArriveScope::All
                                             : ArriveScope::Warp),
        b(role.getLoc(), role.getContext()), results(role) {}

  LogicalResult insert() {
    if (failed(lower(role.getBody())))
      return failure();
    if (copiesOut) { // the readers of the copies come after the worker's end
      b.setInsertionPointToEnd(&role.getBody().back());
      NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(0), /*read=*/UnitAttr());
    }
    return success();
  }

private:
  LogicalResult lower(Region &region) {
    size_t outerRings = rings.size();
    for (Block &block : region) {
      for (Operation &op : llvm::make_early_inc_range(block)) {
        at(&op);
        bool isBoundary = op.getNumRegions() > 0 || op.hasTrait<OpTrait::IsTerminator>();
        if (isBoundary)
          products.waitForAll(b);
        else
          products.waitForSumsOf(b, &op);
        if (op.getNumRegions() == 0 ? failed(lower(&op)) : failed(lowerRegions(&op)))
          return failure();
      }
      b.setInsertionPointToEnd(&block);
      products.waitForAll(b);
    }
    rings.truncate(outerRings);
    return success();
  }

  /// Merges what leaves on each path: through a branch, or around a loop.
  LogicalResult lowerRegions(Operation *op) {
    auto loop = dyn_cast<scf::ForOp>(op);
    auto branch = dyn_cast<scf::IfOp>(op);
    bool isEither = branch && !branch.getElseRegion().empty();
    Reads readBefore = reads, readBehind = isEither ? Reads() : reads;
    if (loop) {
      results.enterLoop(op);
      auto step = LinearIndex::of(loop.getStep());
      Value at = loop.getInductionVar();
      for (const SlotUse &left : readsLeft(loop)) {
        readBefore.push_back({left.channel, left.use.replace(at, LinearIndex::of(at) - step)});
        readBehind.push_back(
            {left.channel, left.use.replace(at, LinearIndex::of(loop.getUpperBound()) - step)});
      }
    }
    ResultsLeaving::Slots before = results.slots;
    ResultsLeaving::Slots behind = isEither ? ResultsLeaving::Slots() : before;
    for (Region &inner : op->getRegions()) {
      results.slots = before;
      reads = readBefore;
      if (failed(lower(inner)))
        return failure();
      behind.join(results.slots);
      llvm::append_range(readBehind, reads);
    }
    results.slots = behind;
    reads = std::move(readBehind);
    return success();
  }

  /// What threads have read at the end of a loop's turn without a fence behind.
  static SmallVector<SlotUse> readsLeft(scf::ForOp loop) {
    SmallVector<SlotUse> left;
    loop.getRegion().walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto wait = dyn_cast<WaitOp>(op);
      auto commit = dyn_cast<CommitOp>(op);
      if (isa<StoreOp, NVVM::FenceProxyOp>(op) || (commit && needsFence(commit)))
        left.clear();
      else if (wait && llvm::any_of(wait.getTiles(),
                                    [](Value tile) { return !tile.use_empty() && isRow(tile); }))
        left.push_back({wait.getChannel(), LinearIndex::of(wait.getUse())});
    });
    return left;
  }
  static bool needsFence(CommitOp op) {
    return !op.getChannel().getDefiningOp<ChannelOp>().passesRegisters();
  }
  static bool isRow(Value tile) { return cast<RankedTensorType>(tile.getType()).getRank() == 1; }

  void at(Operation *op) {
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
  }

  LogicalResult lower(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<MatmulOp>([&](auto op) { return products.issue(op), success(); })
        .Case<PutOp>([&](auto op) { return op.isLoad() ? load(op) : store(op), success(); })
        .Case<CommitOp>([&](auto op) { return commit(op), success(); })
        .Case<ReleaseOp>([&](auto op) { return release(op), success(); })
        .Case<HeldOp>([&](HeldOp op) {
          readTiles(op.getTiles(), op.getChannel(), ringOf(op.getChannel(), op.getUse()));
          return op.erase(), success();
        })
        .Case<RingOp>([&](RingOp op) {
          op.replaceAllUsesWith(ringOf(op.getChannel(), op.getUse()));
          return op.erase(), success();
        })
        .Case<WaitOp>([&](auto op) { return wait(op); })
        .Case<StoreOp>([&](auto op) { return store(op); })
        .Case<LoadFactorOp>([&](LoadFactorOp op) {
          if (auto tile = op.getTile().getDefiningOp<SlotTileOp>())
            reads.push_back(slotOf(tile.getSlot().getDefiningOp<RingOp>()));
          return success();
        })
        .Case<NVVM::FenceProxyOp>([&](auto) { return reads.clear(), success(); })
        .Default(success());
  }

  /// The slot and the phase of a use, computed once in each block.
  RingOp ringOf(Value channel, Value use) {
    SlotUse wanted{channel, LinearIndex::of(use)};
    for (auto &[known, ring] : rings)
      if (known == wanted)
        return ring;
    auto ring = RingOp::create(b, b.getIndexType(), b.getIndexType(), channel, use);
    rings.push_back({wanted, ring});
    return ring;
  }

  LogicalResult wait(WaitOp op) {
    if (!role.isConsumer() &&
        !llvm::all_of(op.getTiles(), [](Value tile) { return tile.use_empty(); }))
      return op.emitError("gives a tile to a role that has no registers for it; run "
                          "--dash-lower-ordered-reduce first");
    RingOp ring = ringOf(op.getChannel(), op.getUse());
    MbarrierWaitOp::create(b, op.getChannel(), BarrierSide::Full, ring.getSlot(), ring.getPhase(),
                           /*borrows=*/false);
    // Reads rows and indices at once: behind the products that are issued next, loads would wait
    // for hundreds of cycles.
    readTiles(op.getTiles(), op.getChannel(), ring);
    readIndices(op, ring);
    op.erase();
    return success();
  }

  void readIndices(WaitOp op, RingOp ring) {
    ResultRange indices = op.getIndices();
    if (llvm::all_of(indices, [](Value index) { return index.use_empty(); }))
      return;
    auto read = ReadIndicesOp::create(b, indices.getTypes(), op.getChannel(), ring.getSlot());
    indices.replaceAllUsesWith(read.getIndices());
    for (Operation *user : llvm::make_early_inc_range(read->getUsers()))
      if (auto hide = dyn_cast<HideOp>(user); hide && !hide.getChannel() && !hide.getQRows())
        readAgain(hide, read);
  }

  /// A consumer has no registers to keep a tile's position until a tile is cut. So it reads the
  /// position again from the slot, which is held.
  void readAgain(HideOp hide, ReadIndicesOp read) {
    SmallVector<int64_t, 2> told;
    for (Value number : {hide.getKvTile(), hide.getSequence()})
      if (number && number.getDefiningOp() == read)
        told.push_back(cast<OpResult>(number).getResultNumber());
      else if (number)
        return;
    hide.getChannelMutable().assign(read.getChannel());
    hide.getSlotMutable().assign(read.getSlot());
    hide.setIndices(told);
  }

  void readTiles(ValueRange tiles, Value channel, RingOp ring) {
    for (auto [element, tile] : llvm::enumerate(tiles)) {
      if (tile.use_empty())
        continue;
      if (isRow(tile))
        reads.push_back(slotOf(ring));
      tile.replaceAllUsesWith(readTile(tile, channel, ring.getSlot(), element));
    }
  }

  Value readTile(Value tile, Value channel, Value slot, int64_t element) {
    auto type = cast<RankedTensorType>(tile.getType());
    if (isRow(tile))
      return LoadRowOp::create(b, type, channel, slot, element);
    if (WaitOp::isReadByThreads(type))
      return LoadFragmentOp::create(b, type, channel, slot, element);
    return SlotTileOp::create(b, type, channel, slot, element);
  }

  static SlotUse slotOf(RingOp ring) { return {ring.getChannel(), LinearIndex::of(ring.getUse())}; }

  /// The next copy into the slot may not overtake what threads have read of it. Where results are
  /// put meanwhile, their fence serves this, too. Nor may it overtake a copy of results out of it.
  void release(ReleaseOp op) {
    SlotUse slot{op.getChannel(), LinearIndex::of(op.getUse())};
    products.waitForReaders(b, slot);
    results.waitForTaken(b, slot);
    RingOp ring = ringOf(op.getChannel(), op.getUse());
    if (role.isConsumer() && llvm::is_contained(reads, slotOf(ring)))
      fence();
    arrive(op.getChannel(), BarrierSide::Empty, ring);
    op.erase();
  }

  void arrive(Value channel, BarrierSide side, RingOp ring) {
    MbarrierArriveOp::create(b, channel, side, ring.getSlot(), scope);
  }

  RingOp waitEmpty(PutOp op) {
    RingOp ring = ringOf(op.getChannel(), op.getUse());
    MbarrierWaitOp::create(b, op.getChannel(), BarrierSide::Empty, ring.getSlot(), ring.getPhase(),
                           /*borrows=*/false);
    return ring;
  }

  /// The copy engine fills the slot.
  void load(PutOp op) {
    Value channel = op.getChannel(), slot = waitEmpty(op).getSlot();
    if (!op.getIndices().empty())
      WriteIndicesOp::create(b, op.getIndices(), channel, slot);
    MbarrierExpectOp::create(b, channel, slot, op.getChannel().getType().getTilesBytes());
    SmallVector<Operation *> loads;
    for (auto [element, tile] : llvm::enumerate(op.getTiles())) {
      auto load = tile.getDefiningOp<LoadOp>();
      CopyInOp::create(b, load.getSource(), load.getSequence(), load.getHead(), load.getTile(),
                       load.getOther(), channel, slot, element, load.getMaskAttr());
      loads.push_back(load);
    }
    op.erase();
    for (Operation *load : loads)
      if (load->use_empty())
        load->erase();
  }

  /// The role's threads fill the slot. A barrier's test would wait behind stores, so consecutive
  /// puts wait for all their slots before the first.
  void store(PutOp op) {
    results.waitFor(b, {op.getChannel(), LinearIndex::of(op.getUse())});
    waitWhereNothingGoesOn(op);
    if (!acquired.erase(op))
      for (PutOp put : findPutsFollowing(op)) {
        waitEmpty(put);
        if (put != op)
          acquired.insert(put);
      }
    RingOp ring = ringOf(op.getChannel(), op.getUse());
    for (auto [element, tile] : llvm::enumerate(op.getTiles()))
      StoreFragmentOp::create(b, tile, op.getChannel(), ring.getSlot(), element, IntegerAttr());
    op.erase();
  }

  /// Stores run while products do. If the remaining products are waited for next, they only keep
  /// registers.
  void waitWhereNothingGoesOn(PutOp op) {
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (auto release = dyn_cast<ReleaseOp>(next)) {
        if (products.isReadByLast({release.getChannel(), LinearIndex::of(release.getUse())}))
          products.waitForAll(b);
        return;
      }
  }

  void fence() {
    reads.clear();
    NVVM::FenceProxyOp::create(
        b, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta));
  }

  /// Adjacent commits share one fence, before the first: nothing is written between them.
  static bool isFenced(CommitOp op) {
    Operation *last = op->getPrevNode();
    while (last && (isPure(last) || isa<MbarrierArriveOp>(last)))
      last = last->getPrevNode();
    return last && llvm::any_of(syncsOf(last), [](const Sync &sync) {
             return sync.kind == SyncKind::FenceShared;
           });
  }

  void commit(CommitOp op) {
    if (needsFence(op) && !isFenced(op))
      fence();
    arrive(op.getChannel(), BarrierSide::Full, ringOf(op.getChannel(), op.getUse()));
    op.erase();
  }

  /// Results go through this warpgroup's own rows of slots that the role fills next, and out by the
  /// copy engine. Nothing else reads these slots until then, so no barrier is signalled: they stay
  /// empty. Or a result takes the place of a loaded tile, in a slot that the role holds.
  LogicalResult store(StoreOp op) {
    Value channel = op.getThrough();
    if (!channel)
      return op.emitError("has no slots to leave through; run --dash-place-releases first");
    Value rounded;
    int64_t depth = channel.getDefiningOp<ChannelOp>().getDepth(), slices = op.getNumSlices();
    for (int64_t first = 0; first < slices; first += depth)
      leave(op, rounded, llvm::seq(first, std::min(first + depth, slices)));
    op.erase();
    copiesOut = true;
    return success();
  }

  /// Before the branches, if the use is computed there.
  Value useAhead(Value use, int64_t ahead) {
    OpBuilder::InsertionGuard guard(b);
    if (use.getParentBlock() != b.getInsertionBlock())
      b.setInsertionPointAfterValue(use);
    return ahead ? arith::AddIOp::create(b, use, arith::ConstantIndexOp::create(b, ahead)) : use;
  }

  Value round(StoreOp op) {
    RankedTensorType sums = op.getValue().getType();
    auto layout = cast<FragmentAttr>(sums.getEncoding());
    auto type = RankedTensorType::get(sums.getShape(), op.getTarget().getType().getElementType(),
                                      FragmentAttr::get(b.getContext(), FragmentKind::Operand,
                                                        layout.getSplit(), layout.getWarpgroups()));
    return RoundOp::create(b, type, op.getValue(), op.getScale(), IntegerAttr());
  }

  /// Slices that take a slot each, together. The tile is rounded when the first slots are there.
  void leave(StoreOp op, Value &rounded, llvm::iota_range<int64_t> slices) {
    Value channel = op.getThrough();
    SmallVector<Value> slots;
    // A warp's wait for products says nothing of what those of other warps have read.
    bool isLoaded = op.isThroughLoaded();
    if (isLoaded)
      SyncWarpgroupOp::create(b);
    for (int64_t slice : slices) {
      slots.push_back(useAhead(op.getUse(), op.getSlotOf(slice)));
      if (!isLoaded)
        results.waitFor(b, {channel, LinearIndex::of(slots.back())});
    }
    for (Value &slot : slots) {
      results.begin({channel, LinearIndex::of(slot)});
      RingOp ring = ringOf(channel, slot);
      if (!isLoaded)
        MbarrierWaitOp::create(b, channel, BarrierSide::Empty, ring.getSlot(), ring.getPhase(),
                               /*borrows=*/true);
      slot = ring.getSlot();
    }
    if (!rounded)
      rounded = round(op);
    for (auto [slice, slot] : llvm::zip_equal(slices, slots))
      StoreFragmentOp::create(b, rounded, channel, slot, 0, b.getI64IntegerAttr(slice));
    fence();
    SyncWarpgroupOp::create(b);
    for (auto [slice, slot] : llvm::zip_equal(slices, slots))
      CopyOutOp::create(b, channel, slot, 0, op.getTarget(), op.getSequence(), op.getHead(),
                        op.getTile(), slice);
  }

  RoleOp role;
  bool copiesOut = false;
  ArriveScope scope;
  ImplicitLocOpBuilder b;
  SmallVector<std::pair<SlotUse, RingOp>> rings; ///< of the block and the blocks around it
  llvm::SmallDenseSet<Operation *, 2>
      acquired; ///< puts whose slot has been waited for; looked up only
  using Reads = SmallVector<SlotUse>;
  Reads reads; ///< slots that threads have read since the last fence
  ProductsInFlight products;
  ResultsLeaving results;
};

} // namespace

LogicalResult dash::insertWaits(RoleOp role, bool threadsArrive) {
  return RoleWaits(role, threadsArrive).insert();
}
