//===- ChainSums.cpp - sums of chains as loops ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the number that dash.ordered_reduce promises: hardware adds in L2 replace subnormal
// inputs and results by zeros of their sign, so this code does too.
//
//===----------------------------------------------------------------------===//

#include "ChainSums.h"
#include "OrderTables.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::dash;

/// Zero of the same sign if the number is subnormal (its exponent bits are zero).
static Value flush(LoopBuilder &b, Value numbers) {
  auto type = cast<VectorType>(numbers.getType());
  auto bitsType = VectorType::get(type.getShape(), b.getI32Type());
  auto splat = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(bitsType, APInt(/*numBits=*/32, value)));
  };
  Value bits = arith::BitcastOp::create(b, bitsType, numbers);
  Value exponent = arith::AndIOp::create(b, bits, splat(0x7f800000u));
  Value isSmall = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, exponent, splat(0));
  Value sign = arith::AndIOp::create(b, bits, splat(0x80000000u));
  Value flushed = arith::SelectOp::create(b, isSmall, sign, bits);
  return arith::BitcastOp::create(b, type, flushed);
}

void dash::emitChainSums(LoopBuilder &b, Value workspace, Value chains, int64_t numChains,
                         Value target, llvm::function_ref<TileRows(Value, Value, Value)> rowsOf) {
  int64_t columns = shapeOf(workspace)[2];
  int64_t width = vectorWidth(columns, /*most=*/16); // one cache line
  auto type = VectorType::get(width, b.getF32Type());
  b.forEach(numChains, [&](Value chain) {
    auto entry = [&](int64_t column) { return tableEntry(b, chains, chain, column); };
    TileRows rows = rowsOf(entry(OrderTables::ChainSequence), entry(OrderTables::ChainHead),
                           entry(OrderTables::ChainTile));
    Value first = entry(OrderTables::FirstSlot), end = entry(OrderTables::EndSlot);
    b.forEach(rows.count, [&](Value row) {
      b.forEach(b.index(0), b.index(columns), width, [&](Value column) {
        auto contribution = [&](Value slot) -> Value {
          return vector::LoadOp::create(b, type, workspace, ValueRange{slot, row, column});
        };
        Value sum = b.fold(b.add(first, b.index(1)), end, contribution(first),
                           [&](Value slot, Value sum) -> Value {
                             Value next = arith::AddFOp::create(b, flush(b, sum),
                                                                flush(b, contribution(slot)));
                             return flush(b, next);
                           });
        vector::StoreOp::create(b, sum, target,
                                ValueRange{rows.batch, rows.head, b.add(rows.first, row), column});
      });
    });
  });
}
