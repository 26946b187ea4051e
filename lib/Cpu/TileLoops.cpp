//===- TileLoops.cpp - a task's computations as loops ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No op has a fast-math flag, so LLVM may neither reorder a sum nor fuse a product into it.
// Products keep a row of sums in one vector along the inner index: lanes are elements of the
// result, never terms of one sum.
//
//===----------------------------------------------------------------------===//

#include "TileLoops.h"
#include "OrderTables.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::dash;

/// Runs `body` on the indices of every element of a buffer.
static void forEachElement(LoopBuilder &b, ArrayRef<int64_t> shape,
                           llvm::function_ref<void(ValueRange)> body) {
  b.forEach(shape[0], [&](Value row) {
    if (shape.size() == 1)
      return body(row);
    b.forEach(shape[1], [&](Value column) { body({row, column}); });
  });
}

static Value sumOf(LoopBuilder &b, Value lhs, Value rhs) {
  return arith::AddFOp::create(b, lhs, rhs);
}
static Value productOf(LoopBuilder &b, Value lhs, Value rhs) {
  return arith::MulFOp::create(b, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

void dash::emitFill(LoopBuilder &b, Value buffer, Value number) {
  forEachElement(b, shapeOf(buffer), [&](ValueRange at) { b.store(number, buffer, at); });
}

void dash::emitCopy(LoopBuilder &b, Value from, Value to) {
  forEachElement(b, shapeOf(from), [&](ValueRange at) { b.store(b.load(from, at), to, at); });
}

void dash::emitCopyToSlot(LoopBuilder &b, Value from, Value workspace, Value slot) {
  forEachElement(b, shapeOf(from), [&](ValueRange at) {
    b.store(b.load(from, at), workspace, {slot, at[0], at[1]});
  });
}

Value dash::rowInFold(LoopBuilder &b, Value row, int64_t fold) {
  return fold == 1 ? row : arith::DivUIOp::create(b, row, b.index(fold));
}
Value dash::headInFold(LoopBuilder &b, Value row, int64_t fold) {
  return fold == 1 ? b.index(0) : arith::RemUIOp::create(b, row, b.index(fold));
}

/// Runs `body` on the indices of an element in the tile and in the whole tensor. Covers the tile's
/// rows from `begin` to `end` - 1 and the columns that both have.
static void forEachRow(LoopBuilder &b, ArrayRef<int64_t> shape, const TileRows &rows, Value begin,
                       Value end, llvm::function_ref<void(ValueRange, ValueRange)> body) {
  b.forEach(begin, end, 1, [&](Value row) {
    Value whole = b.add(rows.first, rowInFold(b, row, rows.fold)), head = rows.head;
    if (rows.fold > 1)
      head = b.add(head, headInFold(b, row, rows.fold));
    if (shape.size() == 1)
      return body(row, {rows.batch, head, whole});
    b.forEach(shape[1],
              [&](Value column) { body({row, column}, {rows.batch, head, whole, column}); });
  });
}

/// The shape that a tile and a tensor share: a tile may have more columns.
static SmallVector<int64_t> sharedShape(Value tile, Value tensor) {
  SmallVector<int64_t> shape(shapeOf(tile));
  if (shape.size() == 2)
    shape[1] = cast<MemRefType>(tensor.getType()).getShape().back();
  return shape;
}

void dash::emitLoad(LoopBuilder &b, Value source, const TileRows &rows, Value tile) {
  ArrayRef<int64_t> shape = shapeOf(tile);
  SmallVector<int64_t> shared = sharedShape(tile, source);
  if (shared != shape)
    emitFill(b, tile, b.f32(0));
  forEachRow(b, shared, rows, b.index(0), rows.count, [&](ValueRange at, ValueRange whole) {
    b.store(b.toF32(b.load(source, whole)), tile, at);
  });
  forEachRow(b, shared, rows, rows.count, b.index(shape[0]),
             [&](ValueRange at, ValueRange) { b.store(b.f32(0), tile, at); });
}

void dash::emitStore(LoopBuilder &b, Value tile, Value target, const TileRows &rows, Value scale) {
  Type type = cast<MemRefType>(target.getType()).getElementType();
  forEachRow(b, sharedShape(tile, target), rows, b.index(0), rows.count,
             [&](ValueRange at, ValueRange whole) {
               Value number = b.load(tile, at);
               if (scale)
                 number = productOf(b, scale, number);
               b.store(b.roundTo(type, number), target, whole);
             });
}

//===----------------------------------------------------------------------===//
// Computations on tiles
//===----------------------------------------------------------------------===//

void dash::emitProduct(LoopBuilder &b, const TileProduct &product) {
  ArrayRef<int64_t> shape = shapeOf(product.result);
  int64_t inner = shapeOf(product.a)[product.transposeA ? 0 : 1];
  Value right = product.b;
  if (product.transposeB) {
    right = product.transposed;
    forEachElement(b, shapeOf(right),
                   [&](ValueRange at) { b.store(b.load(product.b, {at[1], at[0]}), right, at); });
  }
  int64_t width = vectorWidth(shape[1], /*most=*/64);
  auto type = VectorType::get(width, b.getF32Type());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  b.forEach(shape[0], [&](Value row) {
    b.forEach(b.index(0), b.index(shape[1]), width, [&](Value column) {
      SmallVector<Value> at = {row, column};
      Value start = zeros;
      if (product.accumulate)
        start = vector::LoadOp::create(b, type, product.accumulate, at);
      Value sum = b.fold(b.index(0), b.index(inner), start, [&](Value k, Value sum) {
        Value left = product.transposeA ? b.load(product.a, {k, row}) : b.load(product.a, {row, k});
        Value lefts = vector::BroadcastOp::create(b, type, left);
        Value rights = vector::LoadOp::create(b, type, right, ValueRange{k, column});
        return sumOf(b, sum, productOf(b, lefts, rights));
      });
      vector::StoreOp::create(b, sum, product.result, at);
    });
  });
}

/// f32(exp(f64(score) - f64(lse)))
static Value exponential(LoopBuilder &b, Value score, Value lse) {
  Type f64 = b.getF64Type();
  Value wideScore = arith::ExtFOp::create(b, f64, score);
  Value wideLse = arith::ExtFOp::create(b, f64, lse);
  Value difference = arith::SubFOp::create(b, wideScore, wideLse);
  return arith::TruncFOp::create(b, b.getF32Type(), math::ExpOp::create(b, difference));
}

void dash::emitProbability(LoopBuilder &b, Value scores, Value lse, Value scale, Value result,
                           bool hasQRows, llvm::function_ref<Value(Value, Value)> isVisible) {
  Value hiddenLse = b.f32(-std::numeric_limits<float>::infinity());
  forEachElement(b, shapeOf(scores), [&](ValueRange at) {
    Value kvRow = at[hasQRows ? 1 : 0], qRow = at[hasQRows ? 0 : 1];
    Value rowLse = b.load(lse, qRow);
    Value hasKeys = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, rowLse, hiddenLse);
    auto choice = scf::IfOp::create(b, b.getF32Type(), b.both(isVisible(qRow, kvRow), hasKeys),
                                    /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(choice.thenBlock());
      Value score = b.load(scores, at);
      if (scale)
        score = productOf(b, scale, score);
      scf::YieldOp::create(b, exponential(b, score, rowLse));
      b.setInsertionPointToStart(choice.elseBlock());
      scf::YieldOp::create(b, b.f32(0));
    }
    b.store(choice.getResult(0), result, at);
  });
}

void dash::emitSoftcap(LoopBuilder &b, Value scores, Value scale, double cap, Value result) {
  Type f64 = b.getF64Type();
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  };
  forEachElement(b, shapeOf(scores), [&](ValueRange at) {
    Value score = b.load(scores, at);
    if (scale)
      score = productOf(b, scale, score);
    Value wide = productOf(b, number(2), arith::ExtFOp::create(b, f64, score));
    Value power = math::ExpOp::create(b, arith::DivFOp::create(b, wide, number(cap)));
    Value rest = arith::DivFOp::create(b, number(2), sumOf(b, number(1), power));
    Value tanh = arith::SubFOp::create(b, number(1), rest);
    b.store(arith::TruncFOp::create(b, b.getF32Type(), tanh), result, at);
  });
}

void dash::emitDamp(LoopBuilder &b, Value probability, Value capped, Value result) {
  forEachElement(b, shapeOf(result), [&](ValueRange at) {
    Value tanh = arith::MaximumFOp::create(b, b.load(capped, at), b.f32(-1));
    Value slope = arith::SubFOp::create(b, b.f32(1), productOf(b, tanh, tanh));
    b.store(productOf(b, b.load(probability, at), slope), result, at);
  });
}

void dash::emitRound(LoopBuilder &b, Value tile, Type half, Value result) {
  forEachElement(b, shapeOf(tile), [&](ValueRange at) {
    b.store(b.toF32(b.roundTo(half, b.load(tile, at))), result, at);
  });
}

void dash::emitScoreGradient(LoopBuilder &b, Value probability, Value gradient, Value delta,
                             Type half, bool hasQRows, Value result) {
  forEachElement(b, shapeOf(result), [&](ValueRange at) {
    Value difference =
        arith::SubFOp::create(b, b.load(gradient, at), b.load(delta, at[hasQRows ? 0 : 1]));
    Value number = productOf(b, b.load(probability, at), difference);
    b.store(b.toF32(b.roundTo(half, number)), result, at);
  });
}

//===----------------------------------------------------------------------===//
// Computations on whole tensors
//===----------------------------------------------------------------------===//

/// Runs `body` on batch, head and row of every row.
static void forEachWholeRow(LoopBuilder &b, Value tensor,
                            llvm::function_ref<void(ArrayRef<Value>)> body) {
  b.forEach(b.dim(tensor, 0), [&](Value batch) {
    b.forEach(b.dim(tensor, 1), [&](Value head) {
      b.forEach(b.dim(tensor, 2), [&](Value row) { body({batch, head, row}); });
    });
  });
}

void dash::emitDelta(LoopBuilder &b, Value o, Value dOut, Value delta) {
  forEachWholeRow(b, o, [&](ArrayRef<Value> row) {
    Value sum = b.fold(b.index(0), b.dim(o, 3), b.f32(0), [&](Value column, Value sum) {
      SmallVector<Value> at = {row[0], row[1], row[2], column};
      return sumOf(b, sum, productOf(b, b.toF32(b.load(o, at)), b.toF32(b.load(dOut, at))));
    });
    b.store(sum, delta, row);
  });
}

/// Adds the numbers of a buffer of 2^n in pairs, then those sums in pairs, and so on. Element 0
/// receives the sum.
static void emitPairwiseSum(LoopBuilder &b, Value numbers) {
  int64_t count = shapeOf(numbers).front();
  for (int64_t step = 1; step < count; step *= 2)
    b.forEach(b.index(0), b.index(count), 2 * step, [&](Value i) {
      Value other = b.load(numbers, b.add(i, b.index(step)));
      b.store(sumOf(b, b.load(numbers, i), other), numbers, i);
    });
}

/// f32(f32(exp(f64(sink) - f64(lse))) * delta), 0 if lse is infinite.
static Value sinkTerm(LoopBuilder &b, Value sink, Value lse, Value delta) {
  Value size = math::AbsFOp::create(b, lse);
  Value infinity = b.f32(std::numeric_limits<float>::infinity());
  Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, size, infinity);
  Value term = productOf(b, exponential(b, sink, lse), delta);
  return arith::SelectOp::create(b, isEmpty, b.f32(0), term);
}

void dash::emitSinkGradient(LoopBuilder &b, Value sink, Value lse, Value delta, Value dsink,
                            Value sequences, int64_t rowsOfRun) {
  Value run = b.allocate({rowsOfRun}), sums = b.allocate({rowsOfRun});
  Value runLength = b.index(rowsOfRun);
  auto addRows = [&](Value sequence, Value batch, Value firstRow, Value numRows) {
    b.forEach(b.dim(lse, 1), [&](Value head) {
      b.forEach(rowsOfRun, [&](Value i) { b.store(b.f32(0), sums, i); });
      b.forEach(b.index(0), numRows, rowsOfRun, [&](Value first) {
        b.forEach(rowsOfRun, [&](Value i) { b.store(b.f32(0), run, i); });
        b.forEach(b.min(runLength, b.sub(numRows, first)), [&](Value i) {
          SmallVector<Value> at = {batch, head, b.add(firstRow, b.add(first, i))};
          b.store(sinkTerm(b, b.load(sink, head), b.load(lse, at), b.load(delta, at)), run, i);
        });
        emitPairwiseSum(b, run);
        Value number = arith::DivUIOp::create(b, first, runLength);
        Value place = arith::RemUIOp::create(b, number, runLength);
        b.store(sumOf(b, b.load(sums, place), b.load(run, b.index(0))), sums, place);
      });
      emitPairwiseSum(b, sums);
      Value sum = b.load(sums, b.index(0));
      b.store(arith::NegFOp::create(b, sum), dsink, {sequence, head});
    });
  };
  if (sequences)
    b.forEach(shapeOf(sequences)[0], [&](Value sequence) {
      Value firstRow = tableEntry(b, sequences, sequence, 0);
      addRows(sequence, b.index(0), firstRow, tableEntry(b, sequences, sequence, 1));
    });
  else
    b.forEach(b.dim(lse, 0),
              [&](Value batch) { addRows(batch, batch, b.index(0), b.dim(lse, 2)); });
  memref::DeallocOp::create(b, run);
  memref::DeallocOp::create(b, sums);
}

void dash::emitConvert(LoopBuilder &b, Value source, Value target, Value scale) {
  Type type = cast<MemRefType>(target.getType()).getElementType();
  forEachWholeRow(b, source, [&](ArrayRef<Value> row) {
    b.forEach(b.dim(target, 3), [&](Value column) { // sums may have more columns
      SmallVector<Value> at = {row[0], row[1], row[2], column};
      Value number = b.load(source, at);
      if (scale)
        number = productOf(b, scale, number);
      b.store(b.roundTo(type, number), target, at);
    });
  });
}
