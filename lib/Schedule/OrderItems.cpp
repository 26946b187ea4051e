//===- OrderItems.cpp - put an order into tiled IR ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OrderItems.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

/// The sequences to state on scheduled items: those of a list, which the types cannot tell.
static SequencesAttr sequencesOf(ItemsOp items, const Schedule &schedule, ScheduleOp op) {
  if (items.getSequencesAttr())
    return items.getSequencesAttr();
  // A batch is a run of equal sequences, and its types (or the caller) tell them.
  bool isBatch = llvm::all_equal(schedule.problem.sequences);
  return isBatch ? SequencesAttr() : op.getProblem().getSequences();
}

/// Moves a walk's body into a walk that gives turns, and makes its adds ordered.
static void orderWalk(WalkOp walk) {
  OpBuilder builder(walk);
  auto ordered = WalkOp::create(builder, walk.getLoc(), /*scheduled=*/true, walk.getInits());
  Block &from = walk.getBody().front(), &to = ordered.getBody().front();
  to.clear();
  SmallVector<Value> arguments = {ordered.getHead(), ordered.getQTile()};
  llvm::append_range(arguments, ordered.getCarried());
  builder.setInsertionPointToEnd(&to);
  to.getOperations().splice(to.end(), from.getOperations());
  for (auto [oldArgument, newArgument] : llvm::zip_equal(from.getArguments(), arguments))
    oldArgument.replaceAllUsesWith(newArgument);
  for (auto reduce : llvm::make_early_inc_range(to.getOps<ReduceOp>())) {
    builder.setInsertionPoint(reduce);
    OrderedReduceOp::create(builder, reduce.getLoc(), reduce.getValue(), reduce.getTarget(),
                            reduce.getSequence(), reduce.getHead(), reduce.getTile(),
                            ordered.getTurn());
    reduce.erase();
  }
  walk.replaceAllUsesWith(ordered);
  walk.erase();
}

/// With several parts, no item has all of dK and dV: sums their shares in f32, in the order of the
/// chains over the parts, and rounds after the last.
static void orderStores(ItemsOp items) {
  for (auto store : llvm::make_early_inc_range(items.getBody().front().getOps<StoreOp>())) {
    ImplicitLocOpBuilder b(store.getLoc(), items);
    Value target = store.getTarget();
    auto type = cast<MemRefType>(target.getType());
    SmallVector<Value> dynamicSizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        dynamicSizes.push_back(memref::DimOp::create(b, target, dim));
    Value sum =
        memref::AllocOp::create(b, MemRefType::get(type.getShape(), b.getF32Type()), dynamicSizes);
    b.setInsertionPointAfter(items);
    auto convert = ConvertOp::create(b, sum, target, store.getScale());
    b.setInsertionPointAfter(convert);
    memref::DeallocOp::create(b, sum);
    b.setInsertionPoint(store);
    OrderedReduceOp::create(b, store.getValue(), sum, store.getSequence(), store.getHead(),
                            store.getTile(), items.getTurn());
    store.erase();
  }
}

void dash::orderItems(ItemsOp items, const Schedule &schedule, StringRef function) {
  Operation *table = SymbolTable::getNearestSymbolTable(items);
  Operation *topLevel = items;
  while (topLevel->getParentOp() != table)
    topLevel = topLevel->getParentOp();
  OpBuilder builder(topLevel);
  ScheduleOp op = createScheduleOp(builder, items.getLoc(), (function + "_order").str(), schedule);
  SymbolTable(table).insert(op); // makes the name unique

  builder.setInsertionPoint(items);
  auto ordered =
      ItemsOp::create(builder, items.getLoc(), FlatSymbolRefAttr::get(op.getSymNameAttr()),
                      items.getQ(), items.getK(), items.getV(), items.getTiles(), items.getMask(),
                      schedule.level, sequencesOf(items, schedule, op));
  Block &from = items.getBody().front(), &to = ordered.getBody().front();
  to.getOperations().splice(to.end(), from.getOperations());
  for (auto [oldArgument, newArgument] : llvm::zip(from.getArguments(), to.getArguments()))
    oldArgument.replaceAllUsesWith(newArgument);
  items.erase();
  for (auto walk : llvm::make_early_inc_range(to.getOps<WalkOp>()))
    orderWalk(walk);
  if (schedule.parts > 1)
    orderStores(ordered);
}
