//===- TileOps.cpp - checks of what a task computes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes follow from the tiles of the enclosing dash.items, so every message can state a number.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "Checks.h"
#include "dash/IR/Panels.h"
#include "dash/IR/TaskTiles.h"

using namespace mlir;
using namespace mlir::dash;

static LogicalResult verifyElement(Operation *op, RankedTensorType tile, MemRefType memref) {
  if (tile.getElementType() == memref.getElementType())
    return success();
  return op->emitOpError() << "tile must have elements of the memref's type, "
                           << memref.getElementType() << ", got " << tile.getElementType();
}

LogicalResult LoadOp::verify() {
  bool isOfTask = getSource().getType().getRank() == 2;
  if (failed(verifyBesideTask(*this, getSource().getType(), getOther(), getMaskAttr())))
    return failure();
  if (failed(isOfTask ? verifyTileOfTask(*this, getType(), getSource().getType())
                      : verifyTileOf(*this, getType(), getSource().getType(),
                                     /*mayBeWider=*/true)))
    return failure();
  return verifyElement(*this, getType(), getSource().getType());
}

LogicalResult StoreTaskOp::verify() {
  if (failed(verifyTileOfTask(*this, getValue().getType(), getTarget().getType())))
    return failure();
  ArrayRef<int64_t> shape = getValue().getType().getShape();
  if (shape[0] != rowsOfTaskTile || shape[1] != rowsOfTaskTile)
    return emitOpError() << "a tile of a task must be "
                         << formatShape({rowsOfTaskTile, rowsOfTaskTile})
                         << ", rows of a kv tile by rows of a q tile, got " << formatShape(shape);
  return verifyElement(*this, getValue().getType(), getTarget().getType());
}

LogicalResult StoreOp::verify() {
  if (failed(verifyTileOf(*this, getValue().getType(), getTarget().getType(), /*mayBeWider=*/true)))
    return failure();
  if (!getThrough()) {
    if (getUse() || getAhead() != 0)
      return emitOpError() << "has " << (getUse() ? "the number of a use" : "slots ahead")
                           << " of no channel";
    return success();
  }
  RankedTensorType tile = getValue().getType();
  Type element = getTarget().getType().getElementType();
  bool isLoaded = isThroughLoaded();
  if (!canLeave(tile, element, getThrough().getType(), isLoaded)) {
    auto error = emitOpError() << "leaves through ";
    if (isLoaded)
      error << "the slot of a loaded tile, of " << tile.getDimSize(0) << " rows of " << element
            << " and at least " << tile.getDimSize(1) << " columns";
    else
      error << "a channel of one tile of " << tile.getDimSize(0) << " rows of " << element
            << ", whose columns are a multiple of " << columnsOfMatrices;
    return error << ", got " << getThrough().getType();
  }
  if (!getThrough().getDefiningOp<ChannelOp>())
    return emitOpError("leaves through a value that no 'dash.channel' makes");
  if (int64_t(getAhead()) < 0)
    return emitOpError() << "ahead must be at least 0, got " << int64_t(getAhead());
  if (isLoaded && getAhead() != 0)
    return emitOpError() << "leaves through the slot of a loaded tile, which no other is ahead of, "
                         << "got ahead(" << getAhead() << ")";
  return success();
}

bool StoreOp::isThroughLoaded() {
  auto channel = getThrough() ? getThrough().getDefiningOp<ChannelOp>() : ChannelOp();
  return channel && channel.isLoaded();
}

std::optional<int64_t> dash::countSlices(int64_t columns, RankedTensorType slot) {
  if (slot.getRank() != 2)
    return std::nullopt;
  int64_t most = slot.getDimSize(1);
  if (most < 1 || most % columnsOfMatrices != 0)
    return std::nullopt;
  return std::max<int64_t>(1, llvm::divideCeil(columns, most));
}

bool StoreOp::canLeave(RankedTensorType tile, Type element, Type type, bool isLoaded) {
  auto channel = dyn_cast<ChannelType>(type);
  // Rows and indices travel with a loaded tile.
  bool isAlone = channel && channel.getElements().size() == 1;
  if (!channel || channel.getTiles().empty() || (!isLoaded && !isAlone))
    return false;
  auto slot = cast<RankedTensorType>(channel.getTiles().front());
  std::optional<int64_t> slices = countSlices(tile.getDimSize(1), slot);
  return slices && (!isLoaded || *slices == 1) && slot.getElementType() == element &&
         slot.getDimSize(0) == tile.getDimSize(0);
}

int64_t StoreOp::getNumSlices() {
  auto slot = cast<RankedTensorType>(cast<ChannelType>(getThrough().getType()).getTiles().front());
  return *countSlices(getValue().getType().getDimSize(1), slot);
}

int64_t StoreOp::getSlotOf(int64_t slice) {
  int64_t depth = getThrough().getDefiningOp<ChannelOp>().getDepth();
  return (int64_t(getAhead()) % depth + slice) % depth;
}

int64_t StoreOp::getLastSlot() {
  int64_t last = 0;
  for (int64_t slice : llvm::seq(getNumSlices()))
    last = std::max(last, getSlotOf(slice));
  return last;
}

//===----------------------------------------------------------------------===//
// MatmulOp
//===----------------------------------------------------------------------===//

ParseResult dash::parseProduct(OpAsmParser &parser, Type &a, Type &b, Type &result,
                               Type &accumulate, const MaybeOperand &accumulateOperand) {
  if (parser.parseLParen() || parser.parseType(a) || parser.parseComma() || parser.parseType(b) ||
      parser.parseRParen() || parser.parseArrow() || parser.parseType(result))
    return failure();
  if (accumulateOperand)
    accumulate = result;
  return success();
}

void dash::printProduct(OpAsmPrinter &printer, Operation *, Type a, Type b, Type result, Type,
                        Value) {
  printer << "(" << a << ", " << b << ") -> " << result;
}

/// Checks a factor whose columns are the product's rows or columns. A warpgroup reads `columns` of
/// them.
static LogicalResult verifyPanels(MatmulOp op, StringRef name, RankedTensorType factor,
                                  int64_t columns) {
  auto layout = dyn_cast_or_null<SwizzledAttr>(factor.getEncoding());
  if (!layout || canReadColumns(layout, factor.getDimSize(1), columns))
    return success();
  return op.emitOpError() << "a warpgroup reads " << columns << " columns of " << name
                          << ", which must be whole panels of " << layout.getColumnsOfPanel()
                          << " or a part of one, got " << factor
                          << ": lay it out in narrower panels";
}

/// Checks that the role has such warpgroups, and that they can split the result so.
static LogicalResult verifySplit(MatmulOp op) {
  SplitAttr split = op.getSplitAttr();
  if (!split)
    return success();
  FragmentAttr sums = split.getSums();
  RankedTensorType result = op.getType();
  auto emitError = [&] { return op.emitOpError() << "split " << split << ": "; };
  if (failed(sums.verifyEncoding(result.getShape(), result.getElementType(), emitError)))
    return failure();
  if (auto role = op->getParentOfType<RoleOp>()) {
    int64_t warpgroups = role.getWarpgroups().value_or(role.getNumWarpgroups());
    if (warpgroups != split.getWarpgroups())
      return op.emitOpError() << "is split among " << split.getWarpgroups()
                              << " warpgroups, in a role of " << warpgroups;
  }
  auto layout = dyn_cast_or_null<FragmentAttr>(result.getEncoding());
  if (layout && layout != sums)
    return op.emitOpError() << "result must be " << sums << ", as " << split << " says, got "
                            << layout;
  return success();
}

/// Checks that the instruction can multiply tiles with these layouts.
static LogicalResult verifyLayouts(MatmulOp op) {
  constexpr int64_t depthOfStep = 16, mostColumns = 256;
  RankedTensorType a = op.getA().getType(), b = op.getB().getType(), result = op.getType();
  if (!a.getEncoding() && !b.getEncoding() && !result.getEncoding())
    return success();
  auto sums = dyn_cast_or_null<FragmentAttr>(result.getEncoding());
  if (!sums || sums.getKind() != FragmentKind::Accumulator)
    return op.emitOpError()
           << "result must be an accumulator fragment where factors have layouts, got " << result;
  if (!isa_and_present<SwizzledAttr>(b.getEncoding()))
    return op.emitOpError() << "b must lie in a slot, as #dash.swizzled, got " << b;
  if (auto factor = dyn_cast_or_null<FragmentAttr>(a.getEncoding());
      factor && factor.getKind() == FragmentKind::Operand) {
    if (op.getTransposeA())
      return op.emitOpError("a in registers cannot be transposed: put it into a slot first");
    if (factor.getSplit() != sums.getSplit() || factor.getWarpgroups() != sums.getWarpgroups())
      return op.emitOpError() << "a in registers must be split as the result is, " << sums
                              << ", got " << factor;
  } else if (!isa_and_present<SwizzledAttr>(a.getEncoding())) {
    return op.emitOpError()
           << "a must be an operand fragment, or lie in a slot, as #dash.swizzled, got " << a;
  }
  int64_t depth = a.getDimSize(op.getTransposeA() ? 0 : 1);
  int64_t columns = sums.getColumns(result.getShape());
  if (depth % depthOfStep != 0)
    return op.emitOpError() << "columns of a as multiplied must be a multiple of " << depthOfStep
                            << ", got " << depth;
  if (columns > mostColumns)
    return op.emitOpError() << "a warpgroup has at most " << mostColumns
                            << " columns of the result, got " << columns;
  if (op.getTransposeA() && failed(verifyPanels(op, "a", a, FragmentAttr::rowsOfWarpgroup)))
    return failure();
  return op.getTransposeB() ? success() : verifyPanels(op, "b", b, columns);
}

LogicalResult MatmulOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  if (a.getElementType() != b.getElementType())
    return emitOpError() << "factors must have elements of one type, got " << a.getElementType()
                         << " and " << b.getElementType();
  // The shapes as multiplied, that is, after transposing.
  SmallVector<int64_t> aShape(a.getShape()), bShape(b.getShape());
  if (getTransposeA())
    std::swap(aShape[0], aShape[1]);
  if (getTransposeB())
    std::swap(bShape[0], bShape[1]);
  if (aShape[1] != bShape[0])
    return emitOpError() << "columns of a must be rows of b, got " << formatShape(aShape) << " and "
                         << formatShape(bShape) << " as multiplied";
  if (SmallVector<int64_t> product = {aShape[0], bShape[1]};
      ArrayRef<int64_t>(product) != getType().getShape())
    return emitOpError() << "result must be " << formatShape(product) << ", the product's shape, "
                         << "got " << formatShape(getType().getShape());
  if (getAccumulate() && getAccumulate().getType() != getType())
    return emitOpError() << "'accumulate' must have the type of the result, " << getType()
                         << ", got " << getAccumulate().getType();
  return failure(failed(verifySplit(*this)) || failed(verifyLayouts(*this)));
}

//===----------------------------------------------------------------------===//
// SoftcapOp, DampOp, ProbabilityOp, RoundOp, ScoreGradientOp
//===----------------------------------------------------------------------===//

/// A tile of one task. Its rows are those of the tile that items own, which stay: in items that own
/// kv tiles it is transposed.
static LogicalResult verifyTaskTile(Operation *op, StringRef name, RankedTensorType tile) {
  ItemsOp items = getItems(op);
  if (!items) // lowered to loops
    return success();
  TilesAttr tiles = items.getTiles();
  SmallVector<int64_t> expected = {tiles.getKv(), tiles.getRowsOfQ()};
  if (items.ownsQ())
    std::swap(expected[0], expected[1]);
  if (ArrayRef<int64_t>(expected) != tile.getShape())
    return op->emitOpError() << "'" << name << "' must be " << formatShape(expected)
                             << (items.ownsQ() ? ", rows of a q tile by rows of a kv tile, got "
                                               : ", rows of a kv tile by rows of a q tile, got ")
                             << formatShape(tile.getShape());
  return success();
}

LogicalResult dash::verifyRows(Operation *op, StringRef name, RankedTensorType rows) {
  ItemsOp items = getItems(op);
  if (!items)
    return success();
  int64_t expected = items.getTiles().getRowsOfQ();
  if (rows.getDimSize(0) == expected)
    return success();
  return op->emitOpError() << "'" << name << "' must have " << expected
                           << " rows, those of a q tile, got " << rows.getDimSize(0);
}

LogicalResult SoftcapOp::verify() {
  return failure(failed(verifyTaskTile(*this, "value", getType())) ||
                 failed(verifyCap(*this, "cap", getCapAttr())));
}

LogicalResult DampOp::verify() { return verifyTaskTile(*this, "probability", getType()); }

LogicalResult ProbabilityOp::verify() {
  return failure(failed(verifyTaskTile(*this, "scores", getScores().getType())) ||
                 failed(verifyRows(*this, "lse", getLse().getType())) ||
                 failed(verifyTaskTile(*this, "result", getType())));
}

LogicalResult RoundOp::verify() {
  ArrayRef<int64_t> found = getType().getShape(), expected = getValue().getType().getShape();
  if (found == expected)
    return success();
  return emitOpError() << "result must be " << formatShape(expected)
                       << ", the shape of the value, got " << formatShape(found);
}

LogicalResult ScoreGradientOp::verify() {
  if (ItemsOp items = getItems(*this); items && items.ownsQ() != getQRows())
    return emitOpError("says 'q_rows' in items that own q tiles, and in no others");
  return failure(failed(verifyTaskTile(*this, "probability", getProbability().getType())) ||
                 failed(verifyTaskTile(*this, "gradient", getGradient().getType())) ||
                 failed(verifyRows(*this, "delta", getDelta().getType())) ||
                 failed(verifyTaskTile(*this, "result", getType())));
}
