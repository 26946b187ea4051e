//===- ItemsMemory.cpp - buffers and workspaces of scheduled items --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers are allocated once, before the first item, and freed after the last.
//
//===----------------------------------------------------------------------===//

#include "ItemsLowering.h"
#include "dash/IR/KernelAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dash;

/// A buffer that lives as long as the loop over items.
Value ItemsLowering::allocate(ArrayRef<int64_t> shape) {
  OpBuilder::InsertionGuard guard(b);
  if (itemLoop)
    b.setInsertionPoint(itemLoop);
  buffers.push_back(b.allocate(shape));
  return buffers.back();
}
Value ItemsLowering::allocateFor(Value tile) {
  return allocate(cast<RankedTensorType>(tile.getType()).getShape());
}

LogicalResult ItemsLowering::makeWorkspaces() {
  LogicalResult result = success();
  items.walk([&](OrderedReduceOp add) {
    if (failed(result))
      return;
    int64_t slots = add->getParentOfType<WalkOp>() ? order.visits.size()
                                                   : order.partChains.size() * schedule.parts;
    numSlots += slots;
    auto tile = cast<RankedTensorType>(add.getValue().getType());
    if (!cast<MemRefType>(add.getTarget().getType()).isLastDimUnitStride())
      result = add.emitError() << "needs a sum with an innermost stride of 1, got "
                               << add.getTarget().getType();
    else
      result =
          makeWorkspace(add, {std::max<int64_t>(slots, 1), tile.getDimSize(0), tile.getDimSize(1)});
  });
  return result;
}

LogicalResult ItemsLowering::makeWorkspace(OrderedReduceOp add, ArrayRef<int64_t> shape) {
  if (!options.contributionsAreArguments) {
    workspaces[add] = allocate(shape);
    return success();
  }
  auto function = items->getParentOfType<func::FuncOp>();
  TensorRoleAttr sums = roleOf(add.getTarget());
  if (!function || !sums)
    return add.emitError() << "has contributions to sums that have no '#dash.tensor_role': only "
                              "those that 'dash.convert' rounds "
                              "to an argument with '"
                           << tensorAttr << "' can be given to a caller";
  auto role = TensorRoleAttr::get(b.getContext(), ("contributions-" + sums.getName()).str(),
                                  sums.getSide(), TensorAccess::Write, TensorKind::Contributions,
                                  sums.getElement(), sums.getColumns());
  auto attributes =
      b.getDictionaryAttr({b.getNamedAttr(tensorAttr, role),
                           b.getNamedAttr(argumentShapeAttr, b.getDenseI64ArrayAttr(shape))});
  unsigned number = function.getNumArguments();
  auto type = MemRefType::get(shape, b.getF32Type());
  LogicalResult inserted = function.insertArgument(number, type, attributes, add.getLoc());
  assert(succeeded(inserted) && "a func.func takes any argument");
  (void)inserted;
  workspaces[add] = function.getArgument(number);
  return success();
}

/// The buffer of a tile. A tile from outside is filled before the first item.
Value ItemsLowering::bufferOf(Value tile) {
  if (Value known = tiles.lookup(tile))
    return known;
  Value buffer = allocateFor(tile);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(itemLoop);
  DenseElementsAttr elements;
  if (matchPattern(tile, m_Constant(&elements)) && elements.isSplat()) {
    emitFill(b, buffer, b.f32(elements.getSplatValue<APFloat>().convertToDouble()));
  } else {
    ArrayRef<int64_t> shape = shapeOf(buffer);
    b.forEach(shape[0], [&](Value row) {
      b.forEach(shape.size() == 2 ? shape[1] : 1, [&](Value column) {
        SmallVector<Value> at = {row, column};
        at.resize(shape.size());
        b.store(b.toF32(tensor::ExtractOp::create(b, tile, at)), buffer, at);
      });
    });
  }
  return tiles[tile] = buffer;
}

TileRows ItemsLowering::rowsOf(Value sequence, Value head, Value tile, bool isQuery) {
  auto entry = [&](int64_t column) { return tableEntry(b, sequenceTable, sequence, column); };
  const TileShape &shape = schedule.problem.tiles;
  int64_t tileRows = isQuery ? shape.q : shape.kv, fold = isQuery ? shape.fold : 1;
  Value length = entry(isQuery ? OrderTables::QRows : OrderTables::KvRows);
  Value first = b.mul(tile, b.index(tileRows));
  Value count = b.min(b.index(tileRows), b.sub(length, first));
  if (fold > 1) {
    head = b.mul(head, b.index(fold));
    count = b.mul(count, b.index(fold));
  }
  if (!isList())
    return {sequence, head, first, count, fold};
  Value offset = entry(isQuery ? OrderTables::QOffset : OrderTables::KvOffset);
  return {b.index(0), head, b.add(offset, first), count, fold};
}
