//===- RoleCut.cpp - the role of each op, and what crosses ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kind of an op determines its role, and the users of a value determine whether it crosses
// between roles. Nothing here knows an attention backward: S, dP and dS are identified by the
// products that use them.
//
//===----------------------------------------------------------------------===//

#include "RoleCut.h"
#include "RegisterEstimate.h"
#include "dash/IR/Panels.h"
#include "dash/IR/TensorRoles.h"
#include "dash/IR/TileSplits.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dash;

static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

Role RoleCut::roleOf(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner()->getParentOp() == walk && isTile(value) ? Role::Compute
                                                                       : Role::Shared;
  Operation *op = value.getDefiningOp();
  return op == walk ? Role::Compute : items->isProperAncestor(op) ? roleOf(op) : Role::Shared;
}

namespace {

bool isRow(Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 1; }

/// Finds the roles and channels of one problem, and checks that roles can take it.
class Cutter {
public:
  Cutter(ItemsOp items, ConsumerChoice choice, RoleCut &cut)
      : items(items), choice(choice), walk(cut.walk), slots(cut.slots), roles(cut.roles), cut(cut) {
    cut.items = items;
  }

  LogicalResult run() {
    return failure(failed(findTiling()) || failed(findWalk()) || failed(assign()) ||
                   failed(checkCrossings()) || failed(findConsumers(cut, choice)) ||
                   failed(cutItemLoads()) || failed(cutStepLoads()) || failed(cutExchanges()) ||
                   failed(cutPassed()) || failed(cutSums()) || failed(cutItemSums()) ||
                   failed(chooseHeaders()) || failed(checkSlots()) || failed(findWayOut()));
  }

private:
  Role roleOf(Operation *op) const { return cut.roleOf(op); }
  Role roleOf(Value value) const { return cut.roleOf(value); }

  LogicalResult findWalk() {
    auto walks = items.getBody().getOps<WalkOp>();
    if (!llvm::hasSingleElement(walks))
      return items.emitError() << "roles overlap the steps of one 'dash.walk', got "
                               << llvm::range_size(walks);
    walk = *walks.begin();
    return success();
  }

  LogicalResult findTiling() {
    cut.tiling = items.getTilingAttr();
    if (!cut.tiling)
      return items.emitError() << "has no tiling for roles to follow; run --dash-choose-tiling "
                                  "before --dash-tile";
    FailureOr<TileSplits> read = TileSplits::read(items);
    if (failed(read))
      return failure();
    cut.splits = *std::move(read);
    int64_t warpgroups = cut.tiling.getWarpgroups();
    WalkResult result = items.walk([&](MatmulOp product) {
      if (product.getSplitAttr().getWarpgroups() == warpgroups)
        return WalkResult::advance();
      product.emitError() << "is split " << product.getSplitAttr()
                          << ", among other warpgroups than the " << warpgroups << " of the tiling";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult assign() {
    for (Block *block : {&items.getBody().front(), &walk.getBody().front()})
      for (Operation &op : *block)
        if (!isa<WalkOp, YieldOp>(op) && failed(assign(op)))
          return failure();
    return success();
  }

  LogicalResult assign(Operation &op) {
    bool inStep = op.getParentOp() == walk;
    if (isa<LoadOp>(op)) {
      roles[&op] = inStep ? Role::LoadStep : Role::LoadItem;
    } else if (isa<StoreTaskOp>(op)) {
      roles[&op] = Role::Reduce;
    } else if (isa<ReduceOp, OrderedReduceOp>(op)) {
      if (!inStep && isa<ReduceOp>(op))
        return op.emitError() << "adds to a tile of its item in no order, which no role does: "
                                 "order the problem with parts=1, or by another kind";
      roles[&op] = Role::Reduce;
    } else if (isa<SinkStateOp>(op)) {
      roles[&op] = Role::Compute;
    } else if (isa<StoreOp, StoreRowOp>(op)) {
      if (inStep)
        return op.emitError()
               << "stores in each step, which no role does: results leave at the end "
                  "of an item, through slots that are free by then";
      roles[&op] = Role::Compute;
    } else if (op.getNumRegions() == 0 && isMemoryEffectFree(&op)) {
      bool hasTile =
          llvm::any_of(op.getOperands(), isTile) || llvm::any_of(op.getResults(), isTile);
      roles[&op] = hasTile ? Role::Compute : Role::Shared;
    } else {
      return op.emitError() << "no role does this: roles load, compute with, add and store tiles";
    }
    return success();
  }

  /// Loading roles pass tiles to the computing role, which passes its own to itself and to the
  /// adding role.
  LogicalResult checkCrossings() {
    for (auto [op, role] : roles)
      for (Value operand : op->getOperands()) {
        Role from = roleOf(operand);
        if (from == Role::Shared || from == role || role == Role::Compute)
          continue;
        Operation *maker = operand.getDefiningOp();
        if (role == Role::Reduce && from == Role::Compute && isTile(operand) && maker &&
            (op->getParentOp() == walk ? maker->getParentOp() == walk : maker == walk))
          continue;
        return op->emitError() << "takes a value that another role makes, and only what products "
                                  "give in the same step, or walks at their end, crosses to where "
                                  "it is added";
      }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Slots
  //===--------------------------------------------------------------------===//

  Slot &addSlot(StringRef name, Value tile, Role from, Role to) {
    std::string unique = name.str();
    for (int64_t i = 1; !taken.insert(unique).second; ++i)
      unique = (name + Twine(i)).str();
    slots.push_back({unique, {tile}, from, to});
    return slots.back();
  }

  /// The name of a tensor, for messages.
  static StringRef nameOf(Value memory, StringRef otherwise) {
    TensorRoleAttr role = dash::roleOf(memory);
    return role ? role.getName() : otherwise;
  }

  LogicalResult cutItemLoads() {
    llvm::MapVector<Value, SmallVector<Value, 2>> rows;
    if (failed(findRows(items.getBody(), rows)))
      return failure();
    for (LoadOp load : items.getBody().getOps<LoadOp>()) {
      if (isRow(load.getResult()) || load->use_empty())
        continue;
      Slot &slot = addSlot(nameOf(load.getSource(), "tile"), load.getResult(), Role::LoadItem,
                           Role::Compute);
      llvm::append_range(slot.tiles, rows.lookup(load.getResult()));
    }
    return success();
  }

  /// One slot for each tile, in the order in which they are needed. A row vector goes with the tile
  /// whose product first uses it, because they are waited for together. If the products of a step
  /// are issued one after the other, all their tiles share one slot.
  LogicalResult cutStepLoads() {
    llvm::MapVector<Value, SmallVector<Value, 2>> rows;
    if (failed(findRows(walk.getBody(), rows)))
      return failure();
    for (Operation &op : walk.getBody().front())
      if (roleOf(&op) == Role::Compute)
        for (Value operand : op.getOperands()) {
          auto load = operand.getDefiningOp<LoadOp>();
          if (!load || load->getParentOp() != walk || isRow(operand) ||
              llvm::any_of(slots,
                           [&](Slot &slot) { return llvm::is_contained(slot.tiles, operand); }))
            continue;
          Slot &slot =
              addSlot(nameOf(load.getSource(), "tile"), operand, Role::LoadStep, Role::Compute);
          llvm::append_range(slot.tiles, rows.lookup(operand));
        }
    // Where items own q tiles, products of one iteration are of two steps.
    if (cut.tiling.getStructure() == WarpStructure::Overlapping && !items.ownsQ())
      mergeStepLoads();
    return success();
  }

  /// Finds the row vectors that go with each tile of an item or of a step.
  LogicalResult findRows(Region &body, llvm::MapVector<Value, SmallVector<Value, 2>> &rows) {
    for (LoadOp load : body.getOps<LoadOp>()) {
      if (!isRow(load.getResult()) || load->use_empty())
        continue;
      Value tile = findTileOfRows(load.getResult(), load->getParentOp());
      if (!tile)
        return load.emitError() << "loads a row vector that is not used with a product of a tile "
                                   "of its step, or of its item, so it has no slot to travel in";
      rows[tile].push_back(load.getResult());
    }
    return success();
  }

  void mergeStepLoads() {
    auto *first = llvm::find_if(slots, [](Slot &slot) { return slot.from == Role::LoadStep; });
    if (first == slots.end())
      return;
    for (Slot &other : llvm::make_range(first + 1, slots.end())) {
      first->name += "_" + other.name;
      llvm::append_range(first->tiles, other.tiles);
    }
    slots.erase(first + 1, slots.end());
  }

  /// The tile that is loaded with these rows, for a product of which they are needed.
  Value findTileOfRows(Value row, Operation *parent) {
    for (Operation *user : row.getUsers())
      for (Value operand : user->getOperands()) {
        auto softcap = operand.getDefiningOp<SoftcapOp>();
        if (auto product = (softcap ? softcap.getValue() : operand).getDefiningOp<MatmulOp>())
          for (Value factor : {product.getA(), product.getB()})
            if (auto load = factor.getDefiningOp<LoadOp>(); load && load->getParentOp() == parent)
              return factor;
      }
    return Value();
  }

  /// What splits say (`needsExchange`): a factor that another warpgroup makes, or that registers
  /// cannot give.
  LogicalResult cutExchanges() {
    for (auto [number, consumer] : llvm::enumerate(cut.consumers))
      for (MatmulOp product : walk.getBody().getOps<MatmulOp>())
        for (OpOperand *factor : {&product.getAMutable(), &product.getBMutable()})
          if (consumer.ops.contains(product) && failed(cutExchange(product, *factor, number)))
            return failure();
    return success();
  }

  LogicalResult cutExchange(MatmulOp product, OpOperand &factor, size_t consumer) {
    Operation *op = factor.get().getDefiningOp();
    auto isOf = [&](const Slot &slot) {
      return slot.getTile() == factor.get() && slot.maker == consumer && slot.to == Role::Compute;
    };
    if (!cut.splits.needsExchange(product, factor) || llvm::any_of(slots, isOf))
      return success();
    if (!op || op->getParentOp() != walk)
      return product.emitError() << "reads a tile of another step as a factor that warpgroups "
                                    "exchange, and they exchange those of their step only";
    addSlot(isa<ScoreGradientOp>(op) ? "ds" : "whole", factor.get(), Role::Compute, Role::Compute)
        .maker = consumer;
    return success();
  }

  /// What one consumer passes to others crosses as its threads hold it.
  LogicalResult cutPassed() {
    if (cut.passed)
      addSlot(channelOfProbabilities, cut.passed, Role::Compute, Role::Compute).maker = cut.passer;
    return success();
  }

  LogicalResult cutSums() {
    for (Operation &op : walk.getBody().front()) {
      if (roleOf(&op) != Role::Reduce)
        continue;
      Value tile = op.getOperand(0);
      if (roleOf(tile) != Role::Compute)
        return op.emitError() << "adds a tile that no product gives: there is nothing to hand on";
      auto *maker = llvm::find_if(cut.consumers, [&](const Consumer &one) {
        return one.ops.contains(tile.getDefiningOp());
      });
      addSlot(nameOf(op.getOperand(1), "sum"), tile, Role::Compute, Role::Reduce).maker =
          maker - cut.consumers.begin();
    }
    return success();
  }

  /// Sums of an item are added after its walk, through the slots of its steps' sums; in pieces if
  /// they have more rows.
  LogicalResult cutItemSums() {
    for (auto reduce : items.getBody().getOps<OrderedReduceOp>()) {
      auto tile = reduce.getValue().getType();
      for (Slot &slot : slots)
        if (slot.to == Role::Reduce && !cut.sums)
          cut.sums = &slot;
      auto ofSlot =
          cut.sums ? cast<RankedTensorType>(cut.sums->tiles.front().getType()) : RankedTensorType();
      if (!ofSlot || tile.getDimSize(0) % ofSlot.getDimSize(0) != 0 ||
          tile.getDimSize(1) != ofSlot.getDimSize(1))
        return reduce.emitError()
               << "adds a tile of its item, which leaves through the slots of sums of steps, as a "
                  "whole or in pieces: expected a multiple of their rows, and as many columns";
    }
    return success();
  }

  /// A slot of an item, and one of a step, carries the header that tells consumers what to do: the
  /// first that all compute with. Without one, all wait for the item's first.
  LogicalResult chooseHeaders() {
    for (auto [from, header, of] : {std::tuple(Role::LoadItem, SlotHeader::Item, "each item"),
                                    std::tuple(Role::LoadStep, SlotHeader::Step, "each step")}) {
      auto isLoaded = [from = from](Slot &slot) { return slot.from == from; };
      if (header == SlotHeader::Item && llvm::none_of(slots, isLoaded))
        slots.push_back({channelOfItems.str(), {}, Role::LoadItem, Role::Compute});
      auto *slot = llvm::find_if(slots, [&](Slot &slot) {
        return isLoaded(slot) &&
               llvm::all_of(cut.consumers, [&](Consumer &one) { return one.reads(slot); });
      });
      if (slot == slots.end() && header == SlotHeader::Item)
        slot = llvm::find_if(slots, isLoaded);
      if (slot == slots.end())
        return items.emitError()
               << "loads no tile of " << of
               << " that all its consumers compute with, so nothing tells them what "
                  "to do";
      slot->header = header;
    }
    return success();
  }

  /// Results leave through slots of a factor that warpgroups exchange. Where they exchange none,
  /// results have slots of their own, as wide as such a factor; where rows of q leave, as wide as a
  /// panel of them. Where the tiling has none of these, they leave through a slot of a loaded tile.
  LogicalResult findWayOut() {
    if (cut.tiling.getSlotsOf(TilingAttr::channelOfResults) == 0)
      return success();
    for (auto [number, consumer] : llvm::enumerate(cut.consumers)) {
      bool exchanges = llvm::any_of(slots, [&, number = number](const Slot &slot) {
        return slot.from == Role::Compute && slot.maker == number && slot.getTile() != cut.passed &&
               (slot.to == Role::Compute || isKept(slot.getTile()));
      });
      for (StoreOp store : items.getBody().getOps<StoreOp>())
        if (!exchanges && !consumer.wayOut && consumer.ops.contains(store))
          consumer.wayOut = RankedTensorType::get({store.getValue().getType().getDimSize(0),
                                                   columnsOfWayOut(store.getValue().getType())},
                                                  store.getTarget().getType().getElementType());
    }
    return success();
  }

  /// Whether another program gets it, as it is.
  static bool isKept(Value tile) {
    return llvm::any_of(tile.getUsers(), llvm::IsaPred<StoreTaskOp>);
  }

  int64_t columnsOfWayOut(RankedTensorType result) {
    if (!items.ownsQ())
      return items.getTiles().getQ();
    SwizzledAttr panels = widestPanels(items.getContext(), result.getDimSize(1), /*parts=*/{});
    return panels ? panels.getColumnsOfPanel() : result.getDimSize(1);
  }

  /// The tiling says how many slots each channel has.
  LogicalResult checkSlots() {
    for (const Slot &slot : slots)
      if (!slot.tiles.empty() && !cut.tiling.getSlotsOf(slot.name))
        return emitError(slot.tiles.front().getLoc())
               << "channel '" << slot.name << "' has no number of slots in the tiling, "
               << cut.tiling;
    return success();
  }

  ItemsOp items;
  ConsumerChoice choice;
  WalkOp &walk;
  SmallVector<Slot> &slots;
  llvm::MapVector<Operation *, Role> &roles;
  RoleCut &cut;
  llvm::StringSet<> taken;
};

} // namespace

LogicalResult dash::cutRoles(ItemsOp items, ConsumerChoice choice, RoleCut &cut) {
  if (failed(verifyIsKernel(items)))
    return failure();
  return Cutter(items, choice, cut).run();
}
