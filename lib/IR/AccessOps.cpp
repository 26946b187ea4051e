//===- AccessOps.cpp - what ops do to slots and sums ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of access interfaces that need more than the expression in their .td file.
//
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "dash/IR/SlotAccess.h"
#include "dash/IR/TensorRoles.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static SlotAccess ofIndices(AccessKind kind, SlotRef slot, ValueRange values) {
  unsigned element = cast<ChannelType>(slot.channel.getType()).getNumTiles();
  SlotAccess access{kind, AccessAgent::Threads, AccessRows::Whole, slot, element};
  for (auto [number, value] : llvm::enumerate(values))
    access.indices.push_back({unsigned(number), value});
  return access;
}

SlotAccess SlotAccess::writeIndices(SlotRef slot, ValueRange values) {
  return ofIndices(AccessKind::Write, slot, values);
}
SlotAccess SlotAccess::readIndices(SlotRef slot, ValueRange values) {
  return ofIndices(AccessKind::Read, slot, values);
}

int64_t SlotAccess::countSlices() const {
  auto tile = cast<RankedTensorType>(cast<ChannelType>(slot.channel.getType()).getTiles()[element]);
  return *dash::countSlices(tileColumnsOf(memory.tensor), tile);
}

SlotAccess SlotAccess::ofOwnRows() const {
  SlotAccess access = *this;
  access.rows = AccessRows::Own;
  return access;
}
SlotAccess SlotAccess::ofSlice(std::optional<int64_t> number) const {
  SlotAccess access = *this;
  access.slice = number;
  return access;
}
SlotAccess SlotAccess::withMemory(MemoryRef place) const {
  SlotAccess access = *this;
  access.memory = place;
  return access;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

SmallVector<SlotAccess> dash::accessesOf(Operation *op) {
  auto accesses = dyn_cast<SlotAccessInterface>(op);
  return accesses ? accesses.getSlotAccesses() : SmallVector<SlotAccess>();
}
SmallVector<Sync> dash::syncsOf(Operation *op) {
  auto syncs = dyn_cast<SyncInterface>(op);
  return syncs ? syncs.getSyncs() : SmallVector<Sync>();
}
SmallVector<SumAccess> dash::sumAccessesOf(Operation *op) {
  auto sums = dyn_cast<SumAccessInterface>(op);
  return sums ? sums.getSumAccesses() : SmallVector<SumAccess>();
}

SwizzledAttr SlotAccess::getLayout() const {
  ArrayRef<Type> elements = cast<ChannelType>(slot.channel.getType()).getElements();
  auto type = dyn_cast<RankedTensorType>(elements[element]);
  return type ? dyn_cast_or_null<SwizzledAttr>(type.getEncoding()) : nullptr;
}

SmallVector<SlotAccess> dash::copiesOf(Operation *op) {
  SmallVector<SlotAccess> copies;
  if (!isa<SumAccessInterface>(op))
    copies = accessesOf(op);
  llvm::erase_if(copies, [](const SlotAccess &access) { return !access.memory; });
  return copies;
}

std::optional<SlotAccess> dash::findNamed(Value tile) {
  if (Operation *op = tile.getDefiningOp())
    for (const SlotAccess &access : accessesOf(op))
      if (access.kind == AccessKind::Name && access.tile == tile)
        return access;
  return std::nullopt;
}

/// What the operand shares with other ops, if anything.
static StringRef sharedBy(Value operand) {
  if (isa<ChannelType>(operand.getType()))
    return "a channel";
  // Before waits are ops, a tile that has been waited for is a value like any other.
  if (isa<RankedTensorType>(operand.getType()))
    if (std::optional<SlotAccess> named = findNamed(operand); named && named->slot.slot)
      return "a tile that lies in a slot";
  bool isSum = isa<MemRefType>(operand.getType()) &&
               llvm::any_of(operand.getUsers(), llvm::IsaPred<SumAccessInterface>);
  return isSum ? "sums that others add to" : StringRef();
}

LogicalResult dash::verifySaysAccesses(Operation *op) {
  // A ring only counts.
  if (isa<SlotAccessInterface, SyncInterface, SumAccessInterface, RingOp>(op))
    return success();
  for (Value operand : op->getOperands())
    if (StringRef shared = sharedBy(operand); !shared.empty())
      return op->emitError() << "has " << shared << " and does not say what it does there: the op "
                             << "must have SlotAccessInterface, SyncInterface or "
                             << "SumAccessInterface";
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// A factor in place. A factor without a named slot has no channel.
static SlotAccess readFactor(AccessAgent by, Value factor, Value tile) {
  std::optional<SlotAccess> named = findNamed(factor);
  return SlotAccess::read(by, named ? named->slot : SlotRef(), named ? named->element : 0, tile);
}

SmallVector<SlotAccess> LoadFactorOp::getSlotAccesses() {
  return {readFactor(AccessAgent::Threads, getTile(), getResult()).ofOwnRows()};
}

/// The left factor's rows are the result's: a warpgroup reads only its own if it has rows of the
/// result.
SmallVector<SlotAccess> MatmulOp::getSlotAccesses() {
  auto layout = dyn_cast_or_null<FragmentAttr>(getType().getEncoding());
  bool isByRows = layout && layout.isSplitByRows() && !getTransposeA();
  SmallVector<SlotAccess> accesses;
  for (OpOperand *operand : {&getAMutable(), &getBMutable()}) {
    Value factor = operand->get();
    auto type = cast<RankedTensorType>(factor.getType());
    if (!isa_and_present<SwizzledAttr>(type.getEncoding()) && !findNamed(factor))
      continue; // in registers
    SlotAccess access = readFactor(AccessAgent::TensorCore, factor, factor);
    accesses.push_back(operand == &getAMutable() && isByRows ? access.ofOwnRows() : access);
  }
  return accesses;
}

/// If a tile is cut, its position is read again from the slot.
SmallVector<SlotAccess> HideOp::getSlotAccesses() {
  if (!getChannel())
    return {};
  SmallVector<Value, 2> told = {getKvTile()};
  if (getSequence())
    told.push_back(getSequence());
  auto access = SlotAccess::readIndices(SlotRef::at(getChannel(), getSlot()), told);
  for (auto [index, number] : llvm::zip_equal(access.indices, *getIndices())) {
    index.number = number;
    index.isTold = true;
  }
  return {access};
}

static SmallVector<SlotAccess> nameTiles(SlotRef slot, ValueRange tiles) {
  SmallVector<SlotAccess> accesses;
  for (auto [element, tile] : llvm::enumerate(tiles))
    accesses.push_back(SlotAccess::name(slot, element, tile));
  return accesses;
}

SmallVector<SlotAccess> HeldOp::getSlotAccesses() {
  return nameTiles(SlotRef::ofUse(getChannel(), getUse()), getTiles());
}

SmallVector<SlotAccess> WaitOp::getSlotAccesses() {
  auto slot = SlotRef::ofUse(getChannel(), getUse());
  SmallVector<SlotAccess> accesses = nameTiles(slot, getTiles());
  if (!getIndices().empty())
    accesses.push_back(SlotAccess::readIndices(slot, getIndices()));
  return accesses;
}

SmallVector<SlotAccess> PutOp::getSlotAccesses() {
  auto slot = SlotRef::ofUse(getChannel(), getUse());
  SmallVector<SlotAccess> accesses;
  for (auto [element, tile] : llvm::enumerate(getTiles())) {
    auto load = tile.getDefiningOp<LoadOp>();
    accesses.push_back(
        load
            ? SlotAccess::write(AccessAgent::CopyEngine, slot, element).withMemory(load.getMemory())
            : SlotAccess::write(AccessAgent::Threads, slot, element, tile).ofOwnRows());
  }
  if (!getIndices().empty())
    accesses.push_back(SlotAccess::writeIndices(slot, getIndices()));
  return accesses;
}

/// The copy engine arrives when it is done. For slots that threads write, `dash.commit` does.
SmallVector<Sync> PutOp::getSyncs() {
  auto slot = SlotRef::ofUse(getChannel(), getUse());
  SmallVector<Sync> syncs = {Sync::waitFor(BarrierSide::Empty, slot)};
  if (isLoad())
    syncs.push_back(Sync::arriveAt(BarrierSide::Full, slot));
  return syncs;
}

static SlotRef slotOfSlice(StoreOp op, int64_t slice) {
  return SlotRef::ofUse(op.getThrough(), op.getUse(), op.getSlotOf(slice));
}

SmallVector<SlotAccess> StoreOp::getSlotAccesses() {
  SmallVector<SlotAccess> accesses;
  for (int64_t slice : llvm::seq(getThrough() ? getNumSlices() : 0)) {
    SlotRef slot = slotOfSlice(*this, slice);
    SlotAccess write = SlotAccess::write(AccessAgent::Threads, slot, 0, getValue());
    SlotAccess read = SlotAccess::read(AccessAgent::CopyEngine, slot, 0)
                          .withMemory({getTarget(), getSequence(), getHead(), getTile()});
    accesses.push_back(write.ofOwnRows().ofSlice(slice));
    accesses.push_back(read.ofOwnRows().ofSlice(slice));
  }
  return accesses;
}

/// The role has waited for a loaded tile that the result takes the place of.
SmallVector<Sync> StoreOp::getSyncs() {
  SmallVector<Sync> syncs;
  if (isThroughLoaded())
    return syncs;
  for (int64_t slice : llvm::seq(getThrough() ? getNumSlices() : 0))
    syncs.push_back(Sync::waitFor(BarrierSide::Empty, slotOfSlice(*this, slice), Value(),
                                  /*borrows=*/true));
  return syncs;
}

SmallVector<SumAccess> OrderedReduceOp::getSumAccesses() {
  MemoryRef sum{getTarget(), getSequence(), getHead(), getTile()};
  if (getApart())
    return {SumAccess{SumAction::Keep, sum, getTurn()},
            SumAccess{SumAction::Count, sum, getTurn(), getIsLast()}};
  return {SumAccess{SumAction::Take, sum, getTurn()}, SumAccess{SumAction::Add, sum, getTurn()},
          SumAccess{SumAction::Give, sum, getTurn(), getIsLast(), getSignalsCompletion()}};
}
