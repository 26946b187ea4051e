//===- RowSums.cpp - sums of rows of O times dO ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All loads come before the multiplications: the number of loads in flight hides the latency of
// memory.
//
//===----------------------------------------------------------------------===//

#include "RowSums.h"
#include "dash/Hopper/ElementType.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dash;

/// Elements of a 16-byte chunk.
constexpr int64_t elementsOfChunk = 8;

Value dash::clampedRow(EntryBuilder &b, const QueryTile &tile, Value localRow) {
  return b.min(b.add(tile.firstRow, localRow), b.add(tile.rows, -1));
}

static SmallVector<Value> loadChunk(EntryBuilder &b, TensorRoleAttr tensor, const QueryTile &tile,
                                    Value row, Value chunk) {
  constexpr int64_t bytesOfLoad = 16;
  int64_t bytes = elementsOfChunk * tensor.getElement().getIntOrFloatBitWidth() / 8;
  Value at = b.offset(rowOf(b, tensor, tile, row), b.mul(chunk, bytes));
  SmallVector<Value> words;
  for (int64_t loaded = 0; loaded < bytes; loaded += bytesOfLoad)
    llvm::append_range(words, b.streamIn(loaded ? b.offset(at, loaded) : at));
  return words;
}

/// Each product is rounded, so that the sum is that of any program that adds in this order.
static Value sumOfUnrounded(EntryBuilder &b, FloatType element, ArrayRef<Value> o,
                            ArrayRef<Value> gradient) {
  Value sum;
  for (auto [i, word] : llvm::enumerate(o)) {
    PairHalf half = i % 2 ? PairHalf::High : PairHalf::Low;
    Value term = b.mul(b.toF32(word), unpackHalf(b, element, gradient[i / 2], half));
    sum = sum ? b.add(sum, term) : term;
  }
  return sum;
}

static Value sumOfChunk(EntryBuilder &b, FloatType element, ArrayRef<Value> o,
                        ArrayRef<Value> gradient) {
  if (o.size() > gradient.size())
    return sumOfUnrounded(b, element, o, gradient);
  Value sum;
  for (auto [x, y] : llvm::zip_equal(o, gradient)) {
    auto factor = [&](Value pair, PairHalf half) { return unpackHalf(b, element, pair, half); };
    Value low = factor(x, PairHalf::Low), lowFactor = factor(y, PairHalf::Low);
    sum = sum ? b.fma(low, lowFactor, sum) : b.mul(low, lowFactor);
    Value high = factor(x, PairHalf::High);
    sum = b.fma(high, factor(y, PairHalf::High), sum);
  }
  return sum;
}

void dash::sumRows(EntryBuilder &b, const RowFactors &factors, const QueryTile &tile,
                   int64_t numRows, Value thread, int64_t numThreads,
                   llvm::function_ref<void(Value row, Value sum)> store) {
  // A power of two that gives threads at most as many rows as there are: lanes without a chunk add
  // zeros.
  int64_t chunks = factors.o.getColumns() / elementsOfChunk;
  int64_t lanesPerRow = std::max<int64_t>(llvm::PowerOf2Ceil(chunks), numThreads / numRows);
  int64_t rowsAtOnce = numThreads / lanesPerRow;
  Value chunk = b.remainder(thread, lanesPerRow), firstRow = b.quotient(thread, lanesPerRow);
  SmallVector<SmallVector<Value>> o, gradient;
  for (int64_t row = 0; row < numRows; row += rowsAtOnce) {
    Value clamped = clampedRow(b, tile, b.add(firstRow, row));
    Value read = chunks == lanesPerRow ? chunk : b.min(chunk, b.i32(chunks - 1));
    o.push_back(loadChunk(b, factors.o, tile, clamped, read));
    gradient.push_back(loadChunk(b, factors.gradient, tile, clamped, read));
  }
  auto element = cast<FloatType>(factors.gradient.getElement());
  SmallVector<Value> sums;
  for (auto [x, y] : llvm::zip_equal(o, gradient)) {
    Value &sum = sums.emplace_back(sumOfChunk(b, element, x, y));
    if (chunks != lanesPerRow)
      sum = b.choose(b.below(chunk, chunks), sum, b.f32(0));
    for (int64_t distance = 1; distance < lanesPerRow; distance *= 2)
      sum = b.add(sum, b.toF32(b.shuffleXor(b.toBits(sum), distance)));
  }
  b.inOneLane(chunk, [&] {
    for (auto [i, sum] : llvm::enumerate(sums))
      store(b.add(firstRow, i * rowsAtOnce), sum);
  });
}
