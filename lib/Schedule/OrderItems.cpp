//===- OrderItems.cpp - put an order into tiled IR ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OrderItems.h"
#include "dash/IR/TensorRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

/// Moves the body of `from` into `to`, replaces the block arguments by `arguments`, and copies the
/// attributes that dash does not know.
static void moveBody(Operation *from, Operation *to, ValueRange arguments) {
  Block &source = from->getRegion(0).front(), &target = to->getRegion(0).front();
  target.getOperations().splice(target.end(), source.getOperations());
  for (auto [oldArgument, newArgument] : llvm::zip_equal(source.getArguments(), arguments)) {
    newArgument.setLoc(oldArgument.getLoc());
    oldArgument.replaceAllUsesWith(newArgument);
  }
  to->setDiscardableAttrs(from->getDiscardableAttrDictionary());
}

/// Moves a walk's body into a walk that gives turns. Makes its adds ordered if the schedule is.
static void orderWalk(WalkOp walk, bool givesTurns, bool isOrdered) {
  OpBuilder builder(walk);
  auto ordered = WalkOp::create(builder, walk.getLoc(), givesTurns, walk.getInits());
  ordered.getBody().front().clear();
  SmallVector<Value> arguments = {ordered.getHead(), ordered.getTile()};
  llvm::append_range(arguments, ordered.getCarried());
  moveBody(walk, ordered, arguments);
  ordered.walk([&](ReduceOp reduce) {
    if (!isOrdered)
      return;
    builder.setInsertionPoint(reduce);
    auto add = OrderedReduceOp::create(builder, reduce.getLoc(), reduce.getValue(),
                                       reduce.getTarget(), reduce.getSequence(), reduce.getHead(),
                                       reduce.getTile(), ordered.getTurn());
    add->setDiscardableAttrs(reduce->getDiscardableAttrDictionary());
    reduce.erase();
  });
  walk.replaceAllUsesWith(ordered);
  walk.erase();
}

/// With several parts, no item has all of dK and dV. Sums their shares in f32, in the order of the
/// chains over the parts if there are any, and rounds after the last one.
static void orderStores(ItemsOp items, bool isOrdered) {
  items.walk([&](StoreOp store) {
    ImplicitLocOpBuilder b(store.getLoc(), items);
    Value target = store.getTarget();
    auto type = cast<MemRefType>(target.getType());
    SmallVector<Value> dynamicSizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        dynamicSizes.push_back(memref::DimOp::create(b, target, dim));
    SmallVector<int64_t> shape(type.getShape());
    shape.back() =
        store.getValue().getType().getShape().back(); // tiles may be wider than the tensor
    Value sum = memref::AllocOp::create(b, MemRefType::get(shape, b.getF32Type()), dynamicSizes);
    if (!isOrdered) { // the first share is added like the others
      Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
      linalg::FillOp::create(b, zero, sum);
    }
    b.setInsertionPointAfter(items);
    auto convert = ConvertOp::create(b, sum, target, store.getScale());
    b.setInsertionPointAfter(convert);
    memref::DeallocOp::create(b, sum);
    b.setInsertionPoint(store);
    if (isOrdered)
      OrderedReduceOp::create(b, store.getValue(), sum, store.getSequence(), store.getHead(),
                              store.getTile(), items.getTurn());
    else
      ReduceOp::create(b, store.getValue(), sum, store.getSequence(), store.getHead(),
                       store.getTile());
    store.erase();
  });
}

LogicalResult dash::verifyCanBeOrdered(ItemsOp items, int64_t parts) {
  if (!SymbolTable::getNearestSymbolTable(items))
    return items.emitError() << "has no symbol table above it to hold its order";
  WalkResult result = items.walk([&](Operation *op) -> WalkResult {
    if (isa<ReduceOp>(op) && !op->getParentOfType<WalkOp>())
      return op->emitError() << "stands outside 'dash.walk', which gives turns";
    auto store = dyn_cast<StoreOp>(op);
    if (!store || parts == 1 || !store.getScale())
      return WalkResult::advance();
    if (items.getBody().isAncestor(store.getScale().getParentRegion()))
      return op->emitError() << "with parts its scale is applied after 'dash.items', so it must be "
                                "defined before";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

ScheduleOp KnownOrders::find(ItemsOp items) const {
  for (const Known &one : all)
    if (llvm::equal(one.over, items->getOperands()) && one.facts == items->getAttrDictionary())
      return one.order;
  return ScheduleOp();
}

void KnownOrders::add(ItemsOp items, ScheduleOp order) {
  all.push_back({llvm::to_vector<3>(items->getOperands()), items->getAttrDictionary(), order});
}

LogicalResult KnownOrders::orderAlike(ItemsOp items, bool isList) const {
  ScheduleOp order = find(items);
  if (failed(verifyCanBeOrdered(items, order.getParts())))
    return failure();
  orderItems(items, order, isList);
  return success();
}

ScheduleOp dash::addOrder(ItemsOp items, const Schedule &schedule, const ScheduleFacts &facts,
                          StringRef function) {
  Operation *table = SymbolTable::getNearestSymbolTable(items);
  Operation *topLevel = items;
  while (topLevel->getParentOp() != table)
    topLevel = topLevel->getParentOp();
  OpBuilder builder(topLevel);
  ScheduleOp op =
      createScheduleOp(builder, items.getLoc(), (function + "_order").str(), schedule, facts);
  SymbolTable(table).insert(op); // makes the name unique
  return op;
}

void dash::orderItems(ItemsOp items, ScheduleOp op, bool isList) {
  OpBuilder builder(items);
  auto ordered = ItemsOp::create(
      builder, items.getLoc(), FlatSymbolRefAttr::get(op.getSymNameAttr()), items.getQ(),
      items.getK(), items.getV(), items.getTiles(), items.getMask(), op.getLevel(),
      isList && !items.getSequencesAttr() ? op.getProblem().getSequences()
                                          : items.getSequencesAttr(),
      items.getSide(), items.getCutAttr());
  SmallVector<Value> arguments = {ordered.getSequence(), ordered.getHead(), ordered.getTile()};
  if (Value pieceHead = ordered.getPieceHead())
    arguments.push_back(pieceHead);
  moveBody(items, ordered, arguments);
  ordered.setTilingAttr(items.getTilingAttr());
  items.erase();
  if (SinkGradientOp sink = findSinkGradient(ordered))
    sink.setSequencesAttr(ordered.getSequencesAttr());
  for (auto walk : llvm::make_early_inc_range(ordered.getBody().front().getOps<WalkOp>()))
    orderWalk(walk, ordered.givesTurns(), op.isOrdered());
  if (op.getParts() > 1)
    orderStores(ordered, op.isOrdered());
}
