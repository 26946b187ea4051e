//===- TileSplits.cpp - which warpgroup has which part of a tile ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dash/IR/TileSplits.h"
#include "Checks.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::dash;

bool dash::needsExchange(SplitAttr made, SplitAttr product, bool isLeft, bool isTransposed) {
  // The tensor core reads only rows of the left factor from registers.
  bool mayStayInRegisters = isLeft && !isTransposed;
  return !mayStayInRegisters || made != product.getFactor(isLeft, isTransposed);
}

/// A tile that threads may hold, or numbers for its rows.
static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

/// The tile lies in a slot, or is read from memory: no thread holds it yet. Row vectors that come
/// from there belong to columns, and those that threads compute to rows. What other threads held
/// goes to the same registers.
static bool isInMemory(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (tile.getDefiningOp<WaitOp>() && type.getRank() == 2 && WaitOp::isReadByThreads(type))
    return false;
  return isa_and_present<WaitOp, HeldOp, LoadOp>(tile.getDefiningOp());
}

/// Where rows of scores are those of q, their numbers belong to rows wherever they come from.
static bool belongsToRows(Operation *op, Value operand) {
  if (cast<RankedTensorType>(operand.getType()).getRank() != 1)
    return false;
  if (auto log = dyn_cast<LogProbabilityOp>(op))
    return log.getQRows();
  if (auto gradient = dyn_cast<ScoreGradientOp>(op))
    return gradient.getQRows();
  ItemsOp items = isa<ProbabilityOp>(op) ? getItems(op) : ItemsOp();
  return items && items.ownsQ();
}

FailureOr<TileSplits> TileSplits::read(Operation *root) {
  TileSplits tiles;
  root->walk([&](Operation *op) { tiles.join(op); });
  WalkResult result = root->walk([&](MatmulOp product) {
    return failed(tiles.split(product)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return tiles;
}

Value TileSplits::find(Value tile) const {
  for (auto it = parents.find(tile); it != parents.end(); it = parents.find(tile))
    tile = it->second;
  return tile;
}

void TileSplits::join(Value one, Value other) {
  if (Value a = find(one), b = find(other); a != b)
    parents[b] = a;
}

/// Joins the tiles that an op leaves where they are.
void TileSplits::join(Operation *op) {
  auto joinAll = [&](ValueRange some, ValueRange others) {
    for (auto [one, other] : llvm::zip(some, others))
      if (isTile(one))
        join(one, other);
  };
  if (auto walk = dyn_cast<WalkOp>(op)) {
    joinAll(walk.getCarried(), walk.getInits());
    joinAll(walk.getCarried(), walk.getYield()->getOperands());
    joinAll(walk.getCarried(), walk.getResults());
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    joinAll(loop.getRegionIterArgs(), loop.getInits());
    joinAll(loop.getRegionIterArgs(), loop.getYieldedValues());
    if (std::optional<ResultRange> results = loop.getLoopResults())
      joinAll(loop.getRegionIterArgs(), *results);
  } else if (op->getNumRegions() > 0) { // a branch
    for (Region &region : op->getRegions())
      if (op->getNumResults() > 0 && !region.empty())
        joinAll(op->getResults(), region.front().getTerminator()->getOperands());
  } else if (auto product = dyn_cast<MatmulOp>(op)) {
    if (Value sums = product.getAccumulate())
      join(product.getResult(), sums);
  } else if (auto put = dyn_cast<PutOp>(op)) {
    if (put.getTiles().size() == 1 && isTile(put.getTiles()[0]) && !put.isLoad())
      join(put.getTiles()[0], put.getChannel());
  } else if (!isa<PieceOp, LoadFactorOp, WaitOp, HeldOp, LoadOp>(op)) { // element-wise
    for (Value result : llvm::make_filter_range(op->getResults(), isTile))
      for (Value operand : llvm::make_filter_range(op->getOperands(), isTile))
        if (!isInMemory(operand) || belongsToRows(op, operand))
          join(result, operand);
  }
}

LogicalResult TileSplits::split(MatmulOp product) {
  SplitAttr of = product.getSplitAttr();
  if (!of)
    return product.emitError()
           << "does not say how warpgroups split it: run --dash-choose-tiling before --dash-tile, "
              "or state 'split'";
  split(product.getResult(), of);
  if (auto held = product.getA().getDefiningOp<LoadFactorOp>())
    split(held.getResult(), of.getFactor(/*isLeft=*/true, product.getTransposeA()));
  return success();
}

void TileSplits::split(Value tile, SplitAttr split) {
  SplitAttr &known = splits[find(tile)];
  assert((!known || known == split) &&
         "a role has so many warpgroups, and a tile's rows say whether they split rows or columns");
  known = split;
}

bool TileSplits::needsExchange(MatmulOp product, OpOperand &factor) const {
  SplitAttr made = lookup(factor.get());
  bool isLeft = &factor == &product.getAMutable();
  return made && !isInMemory(factor.get()) &&
         dash::needsExchange(made, product.getSplitAttr(), isLeft,
                             isLeft ? product.getTransposeA() : product.getTransposeB());
}
