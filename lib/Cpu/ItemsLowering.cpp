//===- ItemsLowering.cpp - scheduled items as loops -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   for each item, in issue order
//     for each of its tasks, in visit order
//       compute; store each contribution in its slot
//   for each chain
//     sum its slots in the order of its turns
//
// A task never waits, so any order of the items gives the same bits. This one keeps the order of
// every list.
//
//===----------------------------------------------------------------------===//

#include "ItemsLowering.h"
#include "ChainSums.h"
#include "CheckItems.h"
#include "LowerItems.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

static Operation *topLevelOf(Operation *op, SymbolTable &symbols) {
  while (op->getParentOp() != symbols.getOp())
    op = op->getParentOp();
  return op;
}

FailureOr<int64_t> ItemsLowering::run() {
  if (failed(verifyAdds(items)) || failed(emitSizeChecks(b, items, schedule.problem)))
    return failure();
  Operation *before = topLevelOf(items, symbols);
  auto emit = [&](const NumberTable &table, StringRef name) {
    return table.emit(b, name, symbols, before);
  };
  sequenceTable = emit(order.sequences, "dash_sequences");
  Value itemTable = emit(order.items, "dash_items");
  visitTable = emit(order.visits, "dash_visits");
  if (failed(makeWorkspaces()))
    return failure();

  itemLoop = scf::ForOp::create(b, b.index(0), b.index(order.items.size()), b.index(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(itemLoop.getBody());
    if (failed(lowerItem(itemTable)))
      return failure();
  }
  emitSums(before);
  for (Value buffer : buffers)
    memref::DeallocOp::create(b, buffer);
  items.erase();
  return numSlots;
}

LogicalResult ItemsLowering::lowerItem(Value itemTable) {
  Value item = itemLoop.getInductionVar();
  auto entry = [&](int64_t column) { return tableEntry(b, itemTable, item, column); };
  scalars.map(items.getSequence(), entry(OrderTables::Sequence));
  scalars.map(items.getHead(), entry(OrderTables::OwnHead));
  scalars.map(items.getTile(), entry(OrderTables::OwnTile));
  if (Value turn = items.getTurn())
    scalars.map(turn, entry(OrderTables::PartTurn));
  if (Value pieceHead = items.getPieceHead())
    scalars.map(pieceHead, entry(OrderTables::PartTurn));
  itemSlot = entry(OrderTables::PartSlot);
  firstVisit = entry(OrderTables::FirstVisit);
  endVisit = entry(OrderTables::EndVisit);
  return lowerBlock(items.getBody().front());
}

LogicalResult ItemsLowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    b.setLoc(op.getLoc());
    if (failed(lowerOp(&op)))
      return failure();
  }
  b.setLoc(items.getLoc());
  return success();
}

LogicalResult ItemsLowering::lowerWalk(WalkOp walk) {
  for (auto [carried, init, result] :
       llvm::zip_equal(walk.getCarried(), walk.getInits(), walk.getResults())) {
    Value buffer = allocateFor(carried);
    tiles[carried] = tiles[result] = buffer;
    emitCopy(b, bufferOf(init), buffer);
  }
  LogicalResult result = success();
  b.forEach(firstVisit, endVisit, 1, [&](Value visit) {
    auto entry = [&](int64_t column) { return tableEntry(b, visitTable, visit, column); };
    scalars.map(walk.getHead(), entry(OrderTables::WalkedHead));
    scalars.map(walk.getTile(), entry(OrderTables::WalkedTile));
    if (Value turn = walk.getTurn())
      scalars.map(turn, entry(OrderTables::Turn));
    taskSlot = entry(OrderTables::Slot);
    result = lowerBlock(walk.getBody().front());
  });
  return result;
}

/// Carries values to the next task. A value that is itself carried is saved before any is replaced.
void ItemsLowering::lowerYield(YieldOp yield) {
  auto walk = cast<WalkOp>(yield->getParentOp());
  SmallVector<Value> next;
  for (Value value : yield.getValues()) {
    next.push_back(bufferOf(value));
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == &walk.getBody().front()) {
      next.back() = allocateFor(value);
      emitCopy(b, bufferOf(value), next.back());
    }
  }
  for (auto [carried, buffer] : llvm::zip_equal(walk.getCarried(), next))
    emitCopy(b, buffer, bufferOf(carried));
}

void ItemsLowering::emitSums(Operation *before) {
  Value chainTable, partChainTable;
  items.walk([&](OrderedReduceOp add) {
    b.setLoc(add.getLoc());
    bool isQuery = bool(add->getParentOfType<WalkOp>());
    const NumberTable &chains = isQuery ? order.chains : order.partChains;
    Value &table = isQuery ? chainTable : partChainTable;
    if (!table)
      table = chains.emit(b, isQuery ? "dash_chains" : "dash_part_chains", symbols, before);
    emitChainSums(b, workspaces.lookup(add), table, chains.size(), add.getTarget(),
                  [&](Value sequence, Value head, Value tile) {
                    return rowsOf(sequence, head, tile, isQuery);
                  });
  });
  b.setLoc(items.getLoc());
}

FailureOr<int64_t> dash::lowerItems(ItemsOp items, const Schedule &schedule, SymbolTable &symbols,
                                    const ItemsLoweringOptions &options) {
  return ItemsLowering(items, schedule, symbols, options).run();
}
