//===- CombineLoops.cpp - pieces of a row put together --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CombineLoops.h"
#include "SoftmaxArith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dash;

using Predicate = arith::CmpFPredicate;

namespace {

/// The pieces of one row of one head.
class RowOfPieces {
public:
  RowOfPieces(LoopBuilder &b, CombineOp op, Value weights, ArrayRef<Value> row)
      : b(b), op(op), weights(weights), batch(row[0]), head(row[1]), row(row[2]),
        heads(b.dim(op.getO(), 1)),
        numPieces(arith::DivUIOp::create(b, b.dim(op.getLsePieces(), 1), heads)) {}

  void emit() {
    Value most = findMost(), sum = sumWeights(most);
    Value isEmpty = compare(b, Predicate::OEQ, sum, b.f32(0));
    Value inverse = arith::DivFOp::create(b, b.f32(1), sum);
    auto element = cast<MemRefType>(op.getO().getType()).getElementType();
    b.forEach(b.dim(op.getO(), 3), [&](Value column) {
      Value number = overPieces(b.f32(0), [&](Value piece, Value before) {
        Value output = b.load(op.getOPieces(), {batch, headOf(piece), row, column});
        Value after = math::FmaOp::create(b, b.load(weights, piece), output, before);
        return choose(b, isSeen(lseOf(piece)), after, before);
      });
      // + 0 gives zeros one sign: pieces may or may not have one.
      number = math::FmaOp::create(b, number, inverse, b.f32(0));
      number = choose(b, isEmpty, b.f32(0), number);
      b.store(b.roundTo(element, number), op.getO(), {batch, head, row, column});
    });
    Value log = productOf(b, inDouble<math::Log2Op>(b, sum), b.f32(llvm::numbers::ln2f));
    b.store(choose(b, isEmpty, b.f32(hiddenScore), sumOf(b, most, log)), op.getLse(),
            {batch, head, row});
  }

private:
  Value headOf(Value piece) { return b.add(b.mul(piece, heads), head); }
  Value lseOf(Value piece) { return b.load(op.getLsePieces(), {batch, headOf(piece), row}); }
  Value overPieces(Value init, llvm::function_ref<Value(Value, Value)> body) {
    return b.fold(b.index(0), numPieces, init, body);
  }
  /// Not -inf; a NaN is seen.
  Value isSeen(Value lse) { return compare(b, Predicate::UNE, lse, b.f32(hiddenScore)); }

  Value findMost() {
    Value most = op.getSink() ? b.load(op.getSink(), head) : b.f32(hiddenScore);
    return overPieces(most, [&](Value piece, Value most) {
      Value lse = lseOf(piece);
      Value isMore = compare(b, Predicate::OGT, lse, most); // no NaN is
      return choose(b, isMore, lse, most);
    });
  }

  Value weightOf(Value lse, Value most) {
    Value difference = arith::SubFOp::create(b, lse, most);
    Value power = powerOf2(b, productOf(b, difference, b.f32(llvm::numbers::log2ef)));
    return choose(b, compare(b, Predicate::OEQ, lse, most), b.f32(1), power); // a sink may be -inf
  }

  /// Keeps the weight of each piece.
  Value sumWeights(Value most) {
    Value sum = op.getSink() ? weightOf(b.load(op.getSink(), head), most) : b.f32(0);
    return overPieces(sum, [&](Value piece, Value sum) {
      Value lse = lseOf(piece);
      Value weight = choose(b, isSeen(lse), weightOf(lse, most), b.f32(0));
      b.store(weight, weights, piece);
      return sumOf(b, sum, weight);
    });
  }

  LoopBuilder &b;
  CombineOp op;
  Value weights; ///< by piece
  Value batch, head, row, heads, numPieces;
};

} // namespace

void dash::emitCombine(LoopBuilder &b, CombineOp op) {
  Value numHeads = b.dim(op.getLsePieces(), 1);
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getF32Type());
  Value weights = memref::AllocOp::create(b, type, ValueRange{numHeads});
  b.forEach(b.dim(op.getLse(), 0), [&](Value batch) {
    b.forEach(b.dim(op.getLse(), 1), [&](Value head) {
      b.forEach(b.dim(op.getLse(), 2),
                [&](Value row) { RowOfPieces(b, op, weights, {batch, head, row}).emit(); });
    });
  });
  memref::DeallocOp::create(b, weights);
}
