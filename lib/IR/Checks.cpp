//===- Checks.cpp - checks that verifiers share ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that more than one op has, and the two traits about where an op stands.
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "dash/IR/TaskTiles.h"
#include "dash/Support/Limits.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dash;

static StringRef nameOf(Dim dim) {
  static constexpr StringRef names[] = {"batch", "heads", "rows", "head dim"};
  return names[dim];
}

LogicalResult dash::verifySameSize(Operation *op, Dim dim, ArrayRef<NamedMemRef> memrefs) {
  const NamedMemRef *first = nullptr;
  for (const NamedMemRef &memref : memrefs) {
    int64_t size = memref.type.getDimSize(dim);
    if (ShapedType::isDynamic(size))
      continue;
    if (size < 1)
      return op->emitOpError() << nameOf(dim) << " of '" << memref.name
                               << "' must be at least 1, got " << size;
    if (!first)
      first = &memref;
    if (int64_t expected = first->type.getDimSize(dim); size != expected)
      return op->emitOpError() << "'" << memref.name << "' must have the " << nameOf(dim) << " of '"
                               << first->name << "', " << expected << ", got " << size;
  }
  return success();
}

LogicalResult dash::verifySameElements(Operation *op, NamedMemRef memref, NamedMemRef other) {
  Type found = memref.type.getElementType(), expected = other.type.getElementType();
  if (found == expected)
    return success();
  return op->emitOpError() << "'" << memref.name << "' must have elements of the type of '"
                           << other.name << "', " << expected << ", got " << found;
}

LogicalResult dash::verifyCap(Operation *op, StringRef name, FloatAttr cap) {
  if (!cap || isCap(cap.getValueAsDouble()))
    return success();
  SmallString<16> text;
  cap.getValue().toString(text);
  return op->emitOpError() << "'" << name << "' must be a finite number above 0, got " << text;
}

/// The sequences' rows, one after the other, are the memref's.
static LogicalResult verifyTotal(Operation *op, StringRef name, StringRef what, MemRefType memref,
                                 int64_t total) {
  int64_t rows = memref.getDimSize(Rows);
  if (ShapedType::isDynamic(rows) || rows == total)
    return success();
  return op->emitOpError() << "rows of '" << name << "' must be the sum of the sequences' " << what
                           << " rows, " << total << ", got " << rows;
}

LogicalResult dash::verifyBatchOfList(Operation *op, SequencesAttr sequences,
                                      ArrayRef<MemRefType> memrefs) {
  for (MemRefType memref : memrefs)
    if (int64_t batch = memref.getDimSize(Batch);
        sequences && !ShapedType::isDynamic(batch) && batch != 1)
      return op->emitOpError() << "'sequences' needs a batch of 1, got " << batch;
  return success();
}

LogicalResult dash::verifyProblem(Operation *op, MemRefType q, MemRefType k, MemRefType v,
                                  SequencesAttr sequences) {
  NamedMemRef nameQ{"q", q}, nameK{"k", k}, nameV{"v", v};
  if (failed(verifySameSize(op, Batch, {nameQ, nameK, nameV})) ||
      failed(verifySameSize(op, HeadDim, {nameQ, nameK})) ||
      failed(verifySameSize(op, HeadDim, {nameV})) || failed(verifySameSize(op, Heads, {nameQ})) ||
      failed(verifySameSize(op, Heads, {nameK, nameV})) ||
      failed(verifySameSize(op, Rows, {nameQ})) || failed(verifySameSize(op, Rows, {nameK, nameV})))
    return failure();
  int64_t heads = q.getDimSize(Heads), kvHeads = k.getDimSize(Heads);
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(kvHeads) && heads % kvHeads != 0)
    return op->emitOpError() << "heads of 'q' must be a multiple of the heads of 'k', got " << heads
                             << " and " << kvHeads;
  if (failed(verifyBatchOfList(op, sequences, {q, k})))
    return failure();
  if (!sequences || sequences.isOpen())
    return success();
  return failure(failed(verifyTotal(op, "q", "query", q, sequences.getTotalQ())) ||
                 failed(verifyTotal(op, "k", "key", k, sequences.getTotalKv())));
}

LogicalResult dash::verifyMask(Operation *op, MaskAttr mask, MemRefType q, MemRefType k,
                               SequencesAttr sequences) {
  auto emitError = [&] { return op->emitOpError(); };
  bool isStated = sequences && !sequences.isOpen();
  int64_t qRows = isStated ? sequences.getMostQ() : q.getDimSize(Rows);
  int64_t kvRows = isStated ? sequences.getMostKv() : k.getDimSize(Rows);
  // Rows of a batch of 1 may be those of several sequences, which are stated when it is ordered.
  bool areLengths = isStated || (q.getDimSize(Batch) > 1 || k.getDimSize(Batch) > 1);
  if (!areLengths)
    qRows = kvRows = ShapedType::kDynamic;
  return failure(failed(mask.verifyData(emitError)) ||
                 failed(mask.verifyRows(qRows, kvRows, emitError)));
}

LogicalResult dash::verifyTileOf(Operation *op, RankedTensorType tile, MemRefType memref,
                                 bool mayBeWider) {
  if (tile.getRank() != memref.getRank() - 2)
    return op->emitOpError() << "tile must have rank " << memref.getRank() - 2
                             << " for a memref of rank " << memref.getRank() << ", got "
                             << tile.getRank();
  ItemsOp items = getItems(op); // null once items are loops
  TilesAttr tiles = items ? items.getTiles() : TilesAttr();
  int64_t rows = tile.getDimSize(0);
  if (tiles && rows != tiles.getRowsOfQ() && rows != tiles.getKv())
    return op->emitOpError() << "tile must have " << tiles.getRowsOfQ() << " (q) or "
                             << tiles.getKv() << " (kv) rows, the tiles of its 'dash.items', got "
                             << rows;
  if (tile.getRank() == 1)
    return success();
  int64_t columns = memref.getDimSize(HeadDim);
  if (tile.getDimSize(1) == columns ||
      (mayBeWider && !ShapedType::isDynamic(columns) && tile.getDimSize(1) > columns))
    return success();
  auto diagnostic = op->emitOpError() << "tile must have " << (mayBeWider ? "at least " : "")
                                      << "as many columns as the head dim of the memref, ";
  if (memref.isDynamicDim(HeadDim))
    return diagnostic << "which must be static";
  return diagnostic << memref.getDimSize(HeadDim) << ", got " << tile.getDimSize(1);
}

LogicalResult dash::verifyBesideTask(Operation *op, MemRefType memref, ValueRange other,
                                     Attribute mask) {
  constexpr size_t headAndTile = 2;
  bool isOfTask = memref.getRank() == 2;
  if (other.size() == (isOfTask ? headAndTile : 0) && bool(mask) == isOfTask)
    return success();
  return isOfTask
             ? op->emitOpError("a tile of a task needs its kv head, its kv tile and the mask: "
                               "with(%kv_head, %kv_tile) mask(...)")
             : op->emitOpError("a tile of a tensor has no kv head, kv tile and mask beside it");
}

LogicalResult dash::verifyTileOfTask(Operation *op, RankedTensorType tile, MemRefType memref) {
  if (memref.getShape().back() != numbersOfTaskTile)
    return op->emitOpError() << "tiles of tasks have " << numbersOfTaskTile << " numbers each, got "
                             << memref;
  SmallVector<int64_t> expected(tile.getShape());
  if (ItemsOp items = getItems(op))
    expected = {items.getTiles().getKv(), items.getTiles().getRowsOfQ()};
  if (ArrayRef<int64_t>(expected) == tile.getShape()) {
    // Items begin at whole tiles.
    if (tile.getRank() == 2 && expected[0] == rowsOfTaskTile && expected[1] > 0 &&
        qTilesOfTasks * rowsOfTaskTile % expected[1] == 0 && expected[1] % rowsOfTaskTile == 0)
      return success();
    return op->emitOpError() << "tiles of tasks take kv tiles of " << rowsOfTaskTile
                             << " rows and q tiles of 1, 2, 3 or 6 times as many, got "
                             << formatShape(expected);
  }
  auto diagnostic = op->emitOpError() << "a tile of a task must be " << formatShape(expected)
                                      << ", rows of a kv tile by rows of a q tile, got ";
  if (tile.getRank() != 2)
    return diagnostic << "rank " << tile.getRank();
  return diagnostic << formatShape(tile.getShape());
}

bool dash::fitsSlot(Type tile, Type element) {
  if (tile == element)
    return true;
  auto held = dyn_cast<RankedTensorType>(tile), kept = dyn_cast<RankedTensorType>(element);
  if (!held || !kept || held.getShape() != kept.getShape() ||
      held.getElementType() != kept.getElementType())
    return false;
  if (!held.getEncoding())
    return true;
  auto fragment = dyn_cast<FragmentAttr>(held.getEncoding());
  if (!fragment || fragment.getKind() == FragmentKind::Accumulator)
    return false;
  return !kept.getEncoding() ||
         (fragment.getKind() == FragmentKind::Operand && isa<SwizzledAttr>(kept.getEncoding()));
}

ItemsOp dash::getItems(Operation *op) { return op->getParentOfType<ItemsOp>(); }

LogicalResult dash::detail::verifyInsideItems(Operation *op) {
  if (getItems(op) || op->getParentOfType<RoleOp>())
    return success();
  return op->emitOpError("stands inside 'dash.items' only: it works on tiles");
}

LogicalResult dash::detail::verifyOutsideItems(Operation *op) {
  ItemsOp items = getItems(op);
  if (!items)
    return success();
  auto diagnostic = op->emitOpError("stands outside 'dash.items' only: it works on whole tensors");
  return diagnostic.attachNote(items.getLoc()) << "inside this";
}

std::string dash::formatShape(ArrayRef<int64_t> shape) {
  return llvm::join(llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }), "x");
}
