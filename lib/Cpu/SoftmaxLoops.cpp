//===- SoftmaxLoops.cpp - the online softmax of a task as loops -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function computes a row of its results from that row of its operands. Powers and logarithms
// are computed in f64 and rounded once.
//
//===----------------------------------------------------------------------===//

#include "SoftmaxLoops.h"
#include "SoftmaxArith.h"
#include "TileLoops.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dash;

/// What scores are multiplied by, so that exponentials are powers of 2.
static Value toLog2(LoopBuilder &b, Value scale) {
  Value log2e = b.f32(llvm::numbers::log2ef);
  return scale ? productOf(b, scale, log2e) : log2e;
}

/// Runs `body` on each row, and on the indices of each of its elements.
static void forEachRow(LoopBuilder &b, Value tile, llvm::function_ref<void(Value)> body) {
  b.forEach(shapeOf(tile)[0], body);
}
static void forEachColumn(LoopBuilder &b, Value tile, Value row,
                          llvm::function_ref<void(ValueRange)> body) {
  b.forEach(shapeOf(tile)[1], [&](Value column) { body({row, column}); });
}

void dash::emitSinkState(LoopBuilder &b, Value sink, Value head, int64_t fold, Value max,
                         Value sum) {
  forEachRow(b, max, [&](Value row) {
    Value ofRow = head;
    if (fold > 1)
      ofRow = b.add(b.mul(head, b.index(fold)), headInFold(b, row, fold));
    b.store(productOf(b, b.load(sink, ofRow), b.f32(llvm::numbers::log2ef)), max, row);
    forEachColumn(b, sum, row, [&](ValueRange at) { b.store(b.f32(0), sum, at); });
    b.store(b.f32(1), sum, {row, b.index(0)});
  });
}

void dash::emitVisible(LoopBuilder &b, Value scores, Value result,
                       llvm::function_ref<Value(Value, Value)> isVisible) {
  forEachRow(b, scores, [&](Value row) {
    forEachColumn(b, scores, row, [&](ValueRange at) {
      b.store(choose(b, isVisible(at[0], at[1]), b.load(scores, at), b.f32(hiddenScore)), result,
              at);
    });
  });
}

void dash::emitRunningMax(LoopBuilder &b, Value scores, Value max, Value scale, double slack,
                          Value result, Value factor) {
  Value unit = toLog2(b, scale);
  forEachRow(b, scores, [&](Value row) {
    Value most = b.fold(
        b.index(0), b.index(shapeOf(scores)[1]), b.f32(hiddenScore), [&](Value column, Value most) {
          Value score = b.load(scores, {row, column});
          // Ordered: NaN counts as little as what is hidden.
          Value counts = compare(b, arith::CmpFPredicate::ONE, score, b.f32(hiddenScore));
          Value scaled = productOf(b, unit, score);
          return choose(b, counts, arith::MaxNumFOp::create(b, most, scaled), most);
        });
    Value before = b.load(max, row);
    Value moves = compare(b, arith::CmpFPredicate::OGT, most, sumOf(b, before, b.f32(slack)));
    Value after = choose(b, moves, most, before);
    b.store(after, result, row);
    Value isSame = compare(b, arith::CmpFPredicate::OEQ, before, after);
    Value ratio = powerOf2(b, arith::SubFOp::create(b, before, after));
    b.store(choose(b, isSame, b.f32(1), ratio), factor, row);
  });
}

void dash::emitExponential(LoopBuilder &b, Value scores, Value max, Value scale, Value result) {
  Value unit = toLog2(b, scale);
  forEachRow(b, scores, [&](Value row) {
    Value minus = arith::NegFOp::create(b, b.load(max, row));
    forEachColumn(b, scores, row, [&](ValueRange at) {
      Value score = b.load(scores, at);
      Value isHidden = compare(b, arith::CmpFPredicate::OEQ, score, b.f32(hiddenScore));
      Value number = powerOf2(b, math::FmaOp::create(b, unit, score, minus));
      b.store(choose(b, isHidden, b.f32(0), number), result, at);
    });
  });
}

void dash::emitRunningSum(LoopBuilder &b, Value probability, Value sum, Value factor,
                          Value result) {
  int64_t lanes = shapeOf(sum)[1], step = 2 * lanes;
  forEachRow(b, sum, [&](Value row) {
    forEachColumn(b, sum, row, [&](ValueRange at) {
      Value first = b.mul(at[1], b.index(2));
      auto sumFrom = [&](Value column) {
        return b.fold(b.index(0), b.index(shapeOf(probability)[1] / step), b.f32(0),
                      [&](Value n, Value sum) {
                        Value place = b.add(column, b.mul(n, b.index(step)));
                        return sumOf(b, sum, b.load(probability, {row, place}));
                      });
      };
      Value both = sumOf(b, sumFrom(first), sumFrom(b.add(first, b.index(1))));
      b.store(math::FmaOp::create(b, b.load(sum, at), b.load(factor, row), both), result, at);
    });
  });
}

void dash::emitRescale(LoopBuilder &b, Value value, Value factor, Value result) {
  forEachRow(b, value, [&](Value row) {
    forEachColumn(b, value, row, [&](ValueRange at) {
      b.store(productOf(b, b.load(value, at), b.load(factor, row)), result, at);
    });
  });
}

void dash::emitFinish(LoopBuilder &b, Value value, Value max, Value sum, Value output, Value lse) {
  forEachRow(b, value, [&](Value row) {
    auto lane = [&](int64_t c) { return b.load(sum, {row, b.index(c)}); };
    Value total = sumOf(b, sumOf(b, lane(0), lane(1)), sumOf(b, lane(2), lane(3)));
    Value isEmpty = compare(b, arith::CmpFPredicate::OEQ, total, b.f32(0));
    Value inverse = arith::DivFOp::create(b, b.f32(1), total);
    forEachColumn(b, value, row, [&](ValueRange at) {
      // + 0 makes -0 to +0: a tile of which the row sees nothing may have done that before.
      Value number = math::FmaOp::create(b, b.load(value, at), inverse, b.f32(0));
      b.store(choose(b, isEmpty, b.f32(0), number), output, at);
    });
    Value log = sumOf(b, b.load(max, row), inDouble<math::Log2Op>(b, total));
    b.store(choose(b, isEmpty, b.f32(hiddenScore), productOf(b, log, b.f32(llvm::numbers::ln2f))),
            lse, row);
  });
}
