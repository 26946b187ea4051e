//===- AsyncOps.cpp - ops of loops, waits and copies ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checks.h"
#include "dash/IR/TaskTiles.h"
#include "dash/IR/TensorRoles.h"

using namespace mlir;
using namespace mlir::dash;

static LogicalResult verifyElement(Operation *op, ChannelType channel, int64_t element) {
  int64_t last = int64_t(channel.getNumTiles()) - 1;
  if (element >= 0 && element <= last)
    return success();
  return op->emitOpError() << "element must be a tile of the slot, from 0 to " << last << ", got "
                           << element;
}

/// A tile in registers, or a name of one in its slot: it has the shape of the channel's type, in
/// any layout.
static LogicalResult verifyTileOfSlot(Operation *op, StringRef name, RankedTensorType tile,
                                      ChannelType channel, int64_t element) {
  if (failed(verifyElement(op, channel, element)))
    return failure();
  auto kept = cast<RankedTensorType>(channel.getTiles()[element]);
  if (tile.getShape() == kept.getShape() && tile.getElementType() == kept.getElementType())
    return success();
  return op->emitOpError() << "'" << name << "' must be element " << element << " of the slot, "
                           << kept << ", got " << tile;
}

/// Copies between a slot and memory do not convert.
static LogicalResult verifyCopied(Operation *op, ChannelType channel, int64_t element,
                                  MemRefType memref) {
  if (failed(verifyElement(op, channel, element)))
    return failure();
  auto tile = cast<RankedTensorType>(channel.getTiles()[element]);
  if (tile.getElementType() == memref.getElementType())
    return success();
  return op->emitOpError() << "a tile of " << tile.getElementType() << " for a memref of "
                           << memref.getElementType();
}

/// Columns of a slot that leave are those of a slice of a tile with `columns`.
static LogicalResult verifySlice(Operation *op, RankedTensorType slot, int64_t columns,
                                 int64_t slice) {
  if (columns < 1)
    return op->emitOpError("a slice is of a tile that has columns, got one without");
  std::optional<int64_t> slices = countSlices(columns, slot);
  if (!slices)
    return op->emitOpError() << "leaves through slots whose columns are a multiple of "
                             << columnsOfMatrices << ", got " << slot;
  if (slice >= 0 && slice < *slices)
    return success();
  return op->emitOpError() << "slice must be from 0 to " << *slices - 1 << ", got " << slice;
}

static LogicalResult verifySums(Operation *op, ChannelType channel, MemRefType sums) {
  if (channel.getNumTiles() == 1 &&
      cast<RankedTensorType>(channel.getTiles()[0]).getElementType() == sums.getElementType())
    return verifyTileOf(op, cast<RankedTensorType>(channel.getTiles()[0]), sums,
                        /*mayBeWider=*/false);
  return op->emitOpError() << "a slot must be one tile of " << sums.getElementType() << ", got "
                           << channel;
}

LogicalResult MbarrierWaitOp::verify() {
  if (getBorrows() && getSide() == BarrierSide::Full)
    return emitOpError("a slot is borrowed while it is empty, and this waits until it is full");
  return success();
}
LogicalResult CopyInOp::verify() {
  ChannelType channel = getChannel().getType();
  if (failed(verifyCopied(*this, channel, getElement(), getSource().getType())))
    return failure();
  auto tile = cast<RankedTensorType>(channel.getTiles()[getElement()]);
  if (failed(verifyBesideTask(*this, getSource().getType(), getOther(), getMaskAttr())))
    return failure();
  if (!getOther().empty())
    return verifyTileOfTask(*this, tile, getSource().getType());
  return verifyTileOf(*this, tile, getSource().getType(), /*mayBeWider=*/true);
}
LogicalResult CopyTaskOutOp::verify() {
  ArrayRef<Type> tiles = getChannel().getType().getElements();
  auto tile = tiles.size() == 1 ? dyn_cast<RankedTensorType>(tiles[0]) : RankedTensorType();
  Type element = getTarget().getType().getElementType();
  constexpr int64_t shape[] = {rowsOfTaskTile, rowsOfTaskTile};
  if (tile && tile.getElementType() == element && tile.getShape() == ArrayRef<int64_t>(shape))
    return verifyTileOfTask(*this, tile, getTarget().getType());
  return emitOpError() << "a slot must be one tile of " << formatShape(shape) << " numbers of "
                       << element << ", got " << getChannel().getType();
}
LogicalResult CopyOutOp::verify() {
  ChannelType channel = getChannel().getType();
  MemRefType target = getTarget().getType();
  if (failed(verifyCopied(*this, channel, getElement(), target)))
    return failure();
  auto slot = cast<RankedTensorType>(channel.getTiles()[getElement()]);
  auto whole = slot.getRank() == 2 && !target.isDynamicDim(HeadDim)
                   ? RankedTensorType::get({slot.getDimSize(0), tileColumnsOf(getTarget())},
                                           slot.getElementType())
                   : slot;
  return failure(failed(verifyTileOf(*this, whole, target, /*mayBeWider=*/true)) ||
                 failed(verifySlice(*this, slot, whole.getDimSize(1), getSlice())));
}
LogicalResult BulkAddOp::verify() {
  return verifySums(*this, getChannel().getType(), getSums().getType());
}
LogicalResult BulkStoreOp::verify() {
  return verifySums(*this, getChannel().getType(), getSums().getType());
}
LogicalResult SlotTileOp::verify() {
  return verifyTileOfSlot(*this, "result", getType(), getChannel().getType(), getElement());
}
LogicalResult LoadRowOp::verify() {
  return verifyTileOfSlot(*this, "result", getType(), getChannel().getType(), getElement());
}
LogicalResult LoadFragmentOp::verify() {
  RankedTensorType result = getType();
  if (failed(verifyTileOfSlot(*this, "result", result, getChannel().getType(), getElement())))
    return failure();
  if (result.getRank() != 2 || !result.getElementType().isF32())
    return emitOpError() << "threads read what threads have put: expected a tile of 'f32', got "
                         << result;
  auto kept = cast<RankedTensorType>(getChannel().getType().getTiles()[getElement()]);
  if (kept.getEncoding() == result.getEncoding())
    return success();
  return emitOpError() << "'result' must have the layout of the slot's tile, " << kept.getEncoding()
                       << ", got " << result.getEncoding();
}
LogicalResult StoreFragmentOp::verify() {
  if (std::optional<uint64_t> slice = getSlice()) {
    ChannelType channel = getChannel().getType();
    RankedTensorType value = getValue().getType();
    if (failed(verifyElement(*this, channel, getElement())))
      return failure();
    auto slot = cast<RankedTensorType>(channel.getTiles()[getElement()]);
    for (RankedTensorType tile : {value, slot})
      if (tile.getRank() != 2)
        return emitOpError() << "a slice is of a tile of rank 2, got " << tile;
    if (auto layout = dyn_cast_or_null<FragmentAttr>(value.getEncoding());
        layout && layout.getKind() != FragmentKind::Operand)
      return emitOpError() << "a slice is of an operand fragment, got " << layout;
    if (value.getDimSize(0) == slot.getDimSize(0) &&
        value.getElementType() == slot.getElementType())
      return verifySlice(*this, slot, value.getDimSize(1), *slice);
    return emitOpError() << "'value' must have the rows and the element type of element "
                         << getElement() << " of the slot, " << slot << ", got " << value;
  }
  return verifyTileOfSlot(*this, "value", getValue().getType(), getChannel().getType(),
                          getElement());
}
LogicalResult LoadFactorOp::verify() {
  RankedTensorType tile = getTile().getType(), result = getType();
  if (tile.getShape() == result.getShape() && tile.getElementType() == result.getElementType())
    return success();
  return emitOpError() << "result must be the tile, " << formatShape(tile.getShape()) << " of "
                       << tile.getElementType() << ", got " << formatShape(result.getShape())
                       << " of " << result.getElementType();
}
LogicalResult MbarrierExpectOp::verify() {
  int64_t expected = getChannel().getType().getTilesBytes();
  if (int64_t(getBytes()) == expected)
    return success();
  return emitOpError() << "bytes must be " << expected << ", those of the tiles of a slot, got "
                       << getBytes();
}

static LogicalResult verifyIndices(Operation *op, ChannelType channel, size_t found) {
  if (found == channel.getNumIndices())
    return success();
  return op->emitOpError() << "a slot holds " << channel.getNumIndices() << " indices, got "
                           << found;
}

LogicalResult WriteIndicesOp::verify() {
  return verifyIndices(*this, getChannel().getType(), getIndices().size());
}
LogicalResult ReadIndicesOp::verify() {
  return verifyIndices(*this, getChannel().getType(), getIndices().size());
}

LogicalResult WgmmaWaitOp::verify() {
  if (int64_t(getPending()) < 0)
    return emitOpError() << "pending must be at least 0, got " << int64_t(getPending());
  if (getInputs().getTypes() != getOutputs().getTypes())
    return emitOpError() << "results must have the types of the operands, "
                         << getInputs().getTypes() << ", got " << getOutputs().getTypes();
  return success();
}

LogicalResult LogProbabilityOp::verify() {
  bool isOfRows = getQRows();
  int64_t expected = getScores().getType().getDimSize(isOfRows ? 0 : 1);
  int64_t found = getLse().getType().getDimSize(0);
  if (expected == found)
    return success();
  return emitOpError() << "'lse' must have " << expected << " elements, one for each "
                       << (isOfRows ? "row" : "column") << " of the scores, got " << found;
}

/// Warpgroups of the role, or of the roles that it was split into.
static int64_t warpgroupsOf(VisibleStepsOp op) {
  auto role = op->getParentOfType<RoleOp>();
  return role ? int64_t(role.getWarpgroups().value_or(role.getNumWarpgroups())) : 1;
}

int64_t VisibleStepsOp::getRowsOfWarpgroup() { return getTiles().getQ() / warpgroupsOf(*this); }

LogicalResult VisibleStepsOp::verify() {
  int64_t warpgroups = warpgroupsOf(*this);
  if (warpgroups > 0 && getTiles().getQ() % warpgroups == 0)
    return success();
  return emitOpError() << "deals " << getTiles().getQ() << " rows of a q tile to " << warpgroups
                       << " warpgroups, expected a multiple";
}

LogicalResult HideOp::verify() {
  if (bool(getChannel()) != bool(getSlot()) || bool(getChannel()) != bool(getIndices()))
    return emitOpError("needs a channel, its slot and indices to read again, or none of them");
  if (!getChannel())
    return success();
  ArrayRef<int64_t> indices = *getIndices();
  size_t expected = getSequence() ? 2 : 1, found = indices.size();
  if (found != expected)
    return emitOpError() << "reads "
                         << (getSequence() ? "2 numbers again, the kv tile and the sequence"
                                           : "1 number again, the kv tile")
                         << ", got " << found << " of their indices";
  int64_t last = int64_t(getChannel().getType().getNumIndices()) - 1;
  for (int64_t index : indices)
    if (index < 0 || index > last)
      return emitOpError() << "index must be from 0 to " << last << ", those of the slot, got "
                           << index;
  return success();
}

/// A read of a slot before it is full, or after its release, may give any value.
Speculation::Speculatability HideOp::getSpeculatability() {
  return getChannel() ? Speculation::NotSpeculatable : Speculation::Speculatable;
}

LogicalResult HeldOp::verify() {
  ChannelType channel = getChannel().getType();
  if (getTiles().size() == channel.getNumTiles() &&
      llvm::all_of_zip(getTiles().getTypes(), channel.getTiles(), fitsSlot))
    return success();
  return emitOpError() << "tiles must be those of a slot of " << channel << ", got "
                       << getTiles().getTypes();
}

LogicalResult TraceOp::verify() {
  constexpr size_t room = 2;
  if (getNumbers().size() > room)
    return emitOpError() << "has room for " << room << " numbers, got " << getNumbers().size();
  bool isHead = getEvent() == TraceEvent::Begin || getEvent() == TraceEvent::End;
  size_t most = getEvent() == TraceEvent::End ? 1 : 0;
  if (isHead && (getSince() || getUntil() || getOf() || getNumbers().size() > most))
    return emitOpError() << "'" << stringifyTraceEvent(getEvent())
                         << "' is of nothing, and has no time before and "
                         << (most ? "at most the number of items" : "no numbers");
  if (!(*this)->getParentOfType<WorkersOp>().getTrace())
    return emitOpError() << "its workers keep no trace: they have no number of records";
  return success();
}

LogicalResult TensorOp::verify() {
  TensorRoleAttr role = getRole();
  if (role.fits(getType()))
    return success();
  auto error = emitOpError() << "'" << role.getName() << "' must be a memref of rank "
                             << role.getRank() << " of " << role.getElement();
  if (role.isTile())
    error << " with " << role.getColumns() << " columns";
  return error << ", got " << getType();
}
