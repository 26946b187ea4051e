//===- LowerTileOps.cpp - the ops of an item and of a task ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ItemsLowering.h"
#include "Visibility.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult ItemsLowering::lowerOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](WalkOp walk) { return lowerWalk(walk); })
      .Case([&](YieldOp yield) {
        lowerYield(yield);
        return success();
      })
      .Case([&](LoadOp load) {
        if (!load.getOther().empty())
          return lowerTask(load), success();
        return lowerMove(load, load.getSequence(), load.getHead(), load.getTile(),
                         [&](const TileRows &rows) {
                           Value buffer = tiles[load.getResult()] = allocateFor(load.getResult());
                           emitLoad(b, lookup(load.getSource()), rows, buffer);
                         });
      })
      .Case([&](StoreOp store) {
        return lowerMove(store, store.getSequence(), store.getHead(), store.getTile(),
                         [&](const TileRows &rows) {
                           emitStore(b, bufferOf(store.getValue()), lookup(store.getTarget()), rows,
                                     lookup(store.getScale()));
                         });
      })
      .Case([&](StoreTaskOp store) { return lowerTask(store), success(); })
      .Case([&](OrderedReduceOp add) {
        Value slot = add->getParentOfType<WalkOp>() ? taskSlot : itemSlot;
        emitCopyToSlot(b, bufferOf(add.getValue()), workspaces.lookup(add), slot);
        return success();
      })
      .Case([&](StoreRowOp store) {
        return lowerMove(store, store.getSequence(), store.getHead(), store.getTile(),
                         [&](const TileRows &rows) {
                           emitStore(b, bufferOf(store.getValue()), lookup(store.getTarget()), rows,
                                     /*scale=*/Value());
                         });
      })
      .Case([&](ProbabilityOp probability) { return lowerProbability(probability); })
      .Case([&](VisibleOp visible) { return lowerVisible(visible); })
      .Case<MatmulOp, SoftcapOp, DampOp, RoundOp, ScoreGradientOp, SinkStateOp, RunningMaxOp,
            ExponentialOp, RunningSumOp, RescaleOp, FinishOp>([&](auto compute) {
        lowerCompute(compute);
        return success();
      })
      .Default([&](Operation *other) { return cloneScalarOp(other); });
}

/// Lowers a load or a store; its tile says whether it moves query rows or key rows.
LogicalResult ItemsLowering::lowerMove(Operation *op, Value sequence, Value head, Value tile,
                                       llvm::function_ref<void(const TileRows &)> emit) {
  auto walk = op->getParentOfType<WalkOp>();
  bool isWalked = walk && tile == walk.getTile();
  if (!isWalked && tile != items.getTile())
    return op->emitError() << "must name its tile by a block argument of 'dash.items' or "
                              "'dash.walk', which says whether its rows are query or key rows";
  // Items own one side and walk the other.
  bool isQuery = isWalked != items.ownsQ();
  emit(rowsOf(lookup(sequence), lookup(head), lookup(tile), isQuery));
  return success();
}

void ItemsLowering::lowerCompute(MatmulOp op) {
  TileProduct product{bufferOf(op.getA()),
                      op.getTransposeA(),
                      bufferOf(op.getB()),
                      op.getTransposeB(),
                      Value(),
                      Value(),
                      Value()};
  if (op.getAccumulate())
    product.accumulate = bufferOf(op.getAccumulate());
  product.result = tiles[op.getResult()] = allocateFor(op.getResult());
  if (op.getTransposeB()) {
    ArrayRef<int64_t> shape = shapeOf(product.b);
    product.transposed = allocate({shape[1], shape[0]});
  }
  emitProduct(b, product);
}

FailureOr<ItemsLowering::IsVisible> ItemsLowering::visibilityAt(Operation *op, Value sequence,
                                                                Value kvTile, Value qTile) {
  // No order visits a tile that the mask's rules hide, so a task's own tiles need no test of them.
  auto walk = op->getParentOfType<WalkOp>();
  Value own = items.ownsQ() ? qTile : kvTile, walked = items.ownsQ() ? kvTile : qTile;
  if (!walk || sequence != items.getSequence() || own != items.getTile() ||
      walked != walk.getTile())
    return op->emitError() << "must be at the sequence, kv tile and q tile of its task: block "
                              "arguments of its 'dash.items' and 'dash.walk'";
  const Problem &problem = schedule.problem;
  Edges edges = problem.mask.edges();
  Value number = lookup(sequence);
  Value qRows = tableEntry(b, sequenceTable, number, OrderTables::QRows);
  Value kvRows = tableEntry(b, sequenceTable, number, OrderTables::KvRows);
  Value firstRow = b.mul(lookup(qTile), b.index(problem.tiles.q));
  Value firstColumn = b.mul(lookup(kvTile), b.index(problem.tiles.kv));
  int64_t fold = problem.tiles.fold;
  return IsVisible([=, b = &this->b](Value qRow, Value kvRow) {
    Value row = rowInFold(*b, qRow, fold);
    return isVisible(*b, edges, b->add(firstRow, row), b->add(firstColumn, kvRow), qRows, kvRows);
  });
}

LogicalResult ItemsLowering::lowerProbability(ProbabilityOp op) {
  FailureOr<IsVisible> isVisible =
      visibilityAt(op, op.getSequence(), op.getKvTile(), op.getQTile());
  if (failed(isVisible))
    return failure();
  Value scores = bufferOf(op.getScores()), lse = bufferOf(op.getLse());
  emitProbability(b, scores, lse, lookup(op.getScale()), makeBuffer(op.getResult()),
                  op->getParentOfType<ItemsOp>().ownsQ(), *isVisible);
  return success();
}

void ItemsLowering::lowerCompute(SoftcapOp op) {
  Value value = bufferOf(op.getValue());
  Value result = tiles[op.getResult()] = allocateFor(op.getResult());
  emitSoftcap(b, value, lookup(op.getScale()), op.getCap().convertToFloat(), result);
}

void ItemsLowering::lowerCompute(DampOp op) {
  Value probability = bufferOf(op.getProbability()), capped = bufferOf(op.getCapped());
  Value result = tiles[op.getResult()] = allocateFor(op.getResult());
  emitDamp(b, probability, capped, result);
}

void ItemsLowering::lowerCompute(RoundOp op) {
  Value value = bufferOf(op.getValue());
  Value result = tiles[op.getResult()] = allocateFor(op.getResult());
  emitRound(b, value, op.getType().getElementType(), result);
}

void ItemsLowering::lowerCompute(ScoreGradientOp op) {
  Value probability = bufferOf(op.getProbability()), gradient = bufferOf(op.getGradient());
  Value delta = bufferOf(op.getDelta());
  Value result = tiles[op.getResult()] = allocateFor(op.getResult());
  emitScoreGradient(b, probability, gradient, delta, op.getType().getElementType(),
                    op->getParentOfType<ItemsOp>().ownsQ(), result);
}

/// Clones index arithmetic and similar ops, which a user may write between ops on tiles.
LogicalResult ItemsLowering::cloneScalarOp(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  if (op->hasTrait<OpTrait::ConstantLike>() && llvm::any_of(op->getResultTypes(), isTensor))
    return success(); // bufferOf reads it
  if (op->getNumRegions() != 0 || llvm::any_of(op->getOperandTypes(), isTensor) ||
      llvm::any_of(op->getResultTypes(), isTensor))
    return op->emitError() << "cannot be lowered to loops inside 'dash.items': only ops of dash "
                              "may have tiles or regions there";
  b.clone(*op, scalars);
  return success();
}
