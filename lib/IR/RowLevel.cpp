//===- RowLevel.cpp - that rows of q do not mix ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// At level `row`, two things must hold of the ops in `dash.items`. A value has a row for each row
// of q, made of that row of other values; or it is the same for all rows. And a walk carries only
// values that a tile leaves as they are if a row sees nothing of it: which tiles an item walks
// depends on all of its rows.
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

class RowProof {
public:
  explicit RowProof(ItemsOp items) : items(items) {}

  LogicalResult run() {
    WalkResult result = items.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      note(op);
      return failed(verify(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

private:
  bool isOutside(Value value) { return !items.getBody().isAncestor(value.getParentRegion()); }

  /// Whether a value has rows of its own for the rows of q. What `verify` accepts is one of both.
  /// Ops precede their uses, so what is known of operands is known before.
  bool hasRows(Value value) const { return withRows.contains(value); }

  void note(Operation *op) {
    bool has = isa<WalkOp, SinkStateOp, VisibleOp>(op) ||
               llvm::any_of(op->getOperands(), [&](Value operand) { return hasRows(operand); });
    if (auto load = dyn_cast<LoadOp>(op))
      has = load.getTile() == items.getTile();
    if (auto walk = dyn_cast<WalkOp>(op))
      withRows.insert(walk.getCarried().begin(), walk.getCarried().end());
    if (has)
      withRows.insert(op->result_begin(), op->result_end());
  }

  LogicalResult refuse(Operation *op, const Twine &why) {
    auto diagnostic = op->emitOpError() << why;
    return diagnostic.attachNote(items.getLoc()) << "of these items of level 'row'";
  }

  LogicalResult verify(Operation *op) {
    for (Value operand : op->getOperands())
      if (failed(verifyOperand(op, operand)))
        return failure();
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](LoadOp load) { return verifyRead(load); })
        .Case([&](VisibleOp visible) { return verifyPlace(visible); })
        .Case<StoreOp, StoreRowOp>([&](auto store) { return verifyWritten(store); })
        .Case([&](MatmulOp product) { return verifyProduct(product); })
        .Case<RunningMaxOp, ExponentialOp>([&](auto op) -> LogicalResult {
          if (op.getScores().template getDefiningOp<VisibleOp>())
            return success();
          return refuse(op, "must take scores from 'dash.visible': a row must not read those that "
                            "the mask hides from it");
        })
        .Case([&](YieldOp yield) { return verifyCarried(yield); })
        .Case([&](SinkStateOp sink) -> LogicalResult {
          if (sink.getHead() == items.getHead())
            return success();
          return refuse(sink, "must take the sink of its item's head, by the block argument of "
                              "'dash.items'");
        })
        .Case<WalkOp, RoundOp, SoftcapOp, RunningSumOp, RescaleOp, FinishOp>(
            [](auto) { return success(); })
        .Default([&](Operation *other) -> LogicalResult {
          auto isTile = [](Type type) { return isa<TensorType>(type); };
          if (llvm::none_of(other->getOperandTypes(), isTile) &&
              llvm::none_of(other->getResultTypes(), isTile) && isMemoryEffectFree(other))
            return success();
          if (matchPattern(other, m_Constant()))
            return success(); // its uses are verified
          return refuse(other, "is not known to keep rows of q apart");
        });
  }

  static bool isOneNumber(Value value) {
    DenseElementsAttr elements;
    return matchPattern(value, m_Constant(&elements)) && elements.isSplat();
  }

  /// Numbers come from outside, where they are the same for all items. A tile has rows of q, or is
  /// a constant of one number; a product's factors are looked at together.
  LogicalResult verifyOperand(Operation *op, Value operand) {
    bool isConstant = matchPattern(operand, m_Constant());
    if (isa<FloatType>(operand.getType()) && !isOutside(operand) && !isConstant)
      return refuse(op, "takes a number that may differ between items, expected one from outside "
                        "of them");
    if (!isa<TensorType>(operand.getType()) || hasRows(operand) || isOneNumber(operand))
      return success();
    if (isOutside(operand) || isConstant)
      return refuse(op, "takes a tile from outside whose rows may differ, expected a constant of "
                        "one number");
    return isa<MatmulOp>(op)
               ? success()
               : refuse(op, "takes a tile whose rows are not those of q: only a product may");
  }

  /// The tile is the item's own, or the task's.
  LogicalResult verifyRead(LoadOp load) {
    auto walk = load->getParentOfType<WalkOp>();
    bool isOwn = load.getTile() == items.getTile() && load.getHead() == items.getHead();
    bool isWalked = walk && load.getTile() == walk.getTile() && load.getHead() == walk.getHead();
    if (load.getSequence() == items.getSequence() && (isOwn || isWalked))
      return success();
    return refuse(load, "must read the tile of its item or of its task, by the block arguments of "
                        "'dash.items' or 'dash.walk'");
  }

  LogicalResult verifyPlace(VisibleOp visible) {
    auto walk = visible->getParentOfType<WalkOp>();
    if (walk && visible.getSequence() == items.getSequence() &&
        visible.getKvTile() == walk.getTile() && visible.getQTile() == items.getTile())
      return success();
    return refuse(visible, "must be at the sequence, kv tile and q tile of its task, by the block "
                           "arguments of 'dash.items' and 'dash.walk'");
  }

  template <typename T> LogicalResult verifyWritten(T store) {
    if (store->template getParentOfType<WalkOp>())
      return refuse(store, "must write behind the walk: inside, values depend on how far it is");
    if (store.getSequence() == items.getSequence() && store.getTile() == items.getTile() &&
        store.getHead() == items.getWrittenHead())
      return success();
    return refuse(store, "must write the tile of its item, by the block arguments of 'dash.items'");
  }

  LogicalResult verifyProduct(MatmulOp product) {
    Value a = product.getA(), accumulate = product.getAccumulate();
    bool hasRowsOfQ = isOneNumber(a) || (hasRows(a) && !product.getTransposeA());
    if (hasRowsOfQ && !hasRows(product.getB()) &&
        (!accumulate || hasRows(accumulate) || isOneNumber(accumulate)))
      return success();
    return refuse(product, "must keep rows of q apart: a must have them as its rows, and b none");
  }

  LogicalResult verifyCarried(YieldOp yield) {
    auto walk = cast<WalkOp>(yield->getParentOp());
    for (auto [carried, value] : llvm::zip_equal(walk.getCarried(), yield.getValues()))
      if (!isKeptByHidden(value, carried)) {
        auto diagnostic =
            yield.emitOpError()
            << "carries value " << (carried.getArgNumber() - walk.getNumIndices())
            << ", which a tile could change for a row that sees nothing of it: expected "
               "'dash.running_max' or 'dash.running_sum' of the value, or a product of rounded "
               "'dash.exponential' added to it";
        return diagnostic.attachNote(items.getLoc()) << "of these items of level 'row'";
      }
    return success();
  }

  static bool isFactor(Value value) {
    auto max = value.getDefiningOp<RunningMaxOp>();
    return max && value == max.getFactor();
  }
  /// Whether a task gives `value` the bits of `carried` in a row that sees nothing of its tile.
  bool isKeptByHidden(Value value, Value carried) {
    if (value == carried)
      return true;
    if (auto max = value.getDefiningOp<RunningMaxOp>())
      return value == max.getNext() && max.getMax() == carried;
    if (auto sum = value.getDefiningOp<RunningSumOp>())
      return sum.getSum() == carried && isFactor(sum.getFactor()) &&
             sum.getProbability().getDefiningOp<ExponentialOp>();
    if (auto rescale = value.getDefiningOp<RescaleOp>())
      return isFactor(rescale.getFactor()) && isKeptByHidden(rescale.getValue(), carried);
    auto product = value.getDefiningOp<MatmulOp>();
    if (!product || !product.getAccumulate())
      return false;
    auto rounded = product.getA().getDefiningOp<RoundOp>();
    return rounded && rounded.getValue().getDefiningOp<ExponentialOp>() &&
           isKeptByHidden(product.getAccumulate(), carried);
  }

  ItemsOp items;
  llvm::DenseSet<Value> withRows; ///< looked up only
};

} // namespace

LogicalResult dash::verifyRowLevel(ItemsOp items) {
  if (!items.ownsQ())
    return items.emitOpError("of level 'row' must own q tiles: others add up over rows of q");
  return RowProof(items).run();
}
