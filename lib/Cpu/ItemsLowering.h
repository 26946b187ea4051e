//===- ItemsLowering.h - the lowering of one dash.items --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_ITEMSLOWERING_H
#define DASH_LIB_CPU_ITEMSLOWERING_H

#include "LoopBuilder.h"
#include "LowerItems.h"
#include "OrderTables.h"
#include "TileLoops.h"
#include "dash/IR/DashOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::dash {

/// ItemsLowering.cpp lowers the items as a whole, ItemsMemory.cpp their memory, LowerTileOps.cpp
/// each op on tiles, LowerSoftmax.cpp those of a forward.
class ItemsLowering {
public:
  ItemsLowering(ItemsOp items, const Schedule &schedule, SymbolTable &symbols,
                const ItemsLoweringOptions &options)
      : items(items), schedule(schedule), symbols(symbols), options(options), order(schedule),
        b(items.getLoc(), items) {}

  /// Returns the number of slots.
  FailureOr<int64_t> run();

private:
  bool isList() { return bool(items.getSequencesAttr()); }

  // ---- Loops.
  LogicalResult lowerItem(Value itemTable);
  LogicalResult lowerBlock(Block &block);
  LogicalResult lowerWalk(WalkOp walk);
  void lowerYield(YieldOp yield);
  void emitSums(Operation *before);

  // ---- Memory.
  Value allocate(ArrayRef<int64_t> shape);
  Value allocateFor(Value tile);
  LogicalResult makeWorkspaces();
  LogicalResult makeWorkspace(OrderedReduceOp add, ArrayRef<int64_t> shape);
  Value bufferOf(Value tile);
  TileRows rowsOf(Value sequence, Value head, Value tile, bool isQuery);

  // ---- Ops on tiles.
  LogicalResult lowerOp(Operation *op);
  LogicalResult lowerMove(Operation *op, Value sequence, Value head, Value tile,
                          llvm::function_ref<void(const TileRows &)> emit);
  // ---- Tiles of tasks.
  Value numberOfTask(Value sequence, Value head, Value qTile, Value kvTile);
  void lowerTask(LoadOp op);
  void lowerTask(StoreTaskOp op);
  void forEachNumber(llvm::function_ref<void(Value, Value, Value)> body);
  LogicalResult lowerProbability(ProbabilityOp op);
  LogicalResult lowerVisible(VisibleOp op);
  /// Whether an element of the task's tiles counts; fails if the places are another task's.
  using IsVisible = std::function<Value(Value qRow, Value kvRow)>;
  FailureOr<IsVisible> visibilityAt(Operation *op, Value sequence, Value kvTile, Value qTile);
  void lowerCompute(MatmulOp op);
  void lowerCompute(SoftcapOp op);
  void lowerCompute(DampOp op);
  void lowerCompute(RoundOp op);
  void lowerCompute(ScoreGradientOp op);
  void lowerCompute(SinkStateOp op);
  void lowerCompute(RunningMaxOp op);
  void lowerCompute(ExponentialOp op);
  void lowerCompute(RunningSumOp op);
  void lowerCompute(RescaleOp op);
  void lowerCompute(FinishOp op);
  Value makeBuffer(Value tile) { return tiles[tile] = allocateFor(tile); }
  LogicalResult cloneScalarOp(Operation *op);
  Value lookup(Value value) { return value ? scalars.lookupOrDefault(value) : Value(); }

  ItemsOp items;
  const Schedule &schedule;
  SymbolTable &symbols;
  const ItemsLoweringOptions &options;
  OrderTables order;
  LoopBuilder b;
  scf::ForOp itemLoop;
  SmallVector<Value> buffers;
  // Looked up only.
  llvm::DenseMap<Value, Value> tiles;
  llvm::DenseMap<Operation *, Value> workspaces;
  IRMapping scalars;
  Value sequenceTable, visitTable;
  // For the current item and task.
  Value firstVisit, endVisit, itemSlot, taskSlot;
  int64_t numSlots = 0;
};

} // namespace mlir::dash

#endif // DASH_LIB_CPU_ITEMSLOWERING_H
