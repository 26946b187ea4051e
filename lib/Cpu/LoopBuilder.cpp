//===- LoopBuilder.cpp - loops and arithmetic in short form ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoopBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dash;

Value LoopBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }
Value LoopBuilder::f32(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}
Value LoopBuilder::add(Value lhs, Value rhs) { return arith::AddIOp::create(*this, lhs, rhs); }
Value LoopBuilder::sub(Value lhs, Value rhs) { return arith::SubIOp::create(*this, lhs, rhs); }
Value LoopBuilder::mul(Value lhs, Value rhs) { return arith::MulIOp::create(*this, lhs, rhs); }
Value LoopBuilder::min(Value lhs, Value rhs) { return arith::MinSIOp::create(*this, lhs, rhs); }
Value LoopBuilder::both(Value lhs, Value rhs) { return arith::AndIOp::create(*this, lhs, rhs); }
Value LoopBuilder::atMost(Value lhs, Value rhs) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::sle, lhs, rhs);
}
Value LoopBuilder::below(Value lhs, Value rhs) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, lhs, rhs);
}

Value LoopBuilder::dim(Value memref, int64_t dimension) {
  return memref::DimOp::create(*this, memref, dimension);
}
Value LoopBuilder::load(Value memref, ValueRange indices) {
  return memref::LoadOp::create(*this, memref, indices);
}
void LoopBuilder::store(Value value, Value memref, ValueRange indices) {
  memref::StoreOp::create(*this, value, memref, indices);
}

Value LoopBuilder::toF32(Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(*this, getF32Type(), value);
}
Value LoopBuilder::roundTo(Type type, Value value) {
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(*this, type, value);
}

void LoopBuilder::forEach(Value begin, Value end, int64_t step,
                          llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(*this, begin, end, index(step));
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}
void LoopBuilder::forEach(Value end, llvm::function_ref<void(Value)> body) {
  forEach(index(0), end, 1, body);
}
void LoopBuilder::forEach(int64_t end, llvm::function_ref<void(Value)> body) {
  forEach(index(end), body);
}

Value LoopBuilder::fold(Value begin, Value end, Value init,
                        llvm::function_ref<Value(Value, Value)> body) {
  auto loop = scf::ForOp::create(*this, begin, end, index(1), ValueRange{init});
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(*this, next);
  return loop.getResult(0);
}

Value LoopBuilder::allocate(ArrayRef<int64_t> shape) {
  return memref::AllocOp::create(*this, MemRefType::get(shape, getF32Type()),
                                 getI64IntegerAttr(64));
}

ArrayRef<int64_t> dash::shapeOf(Value memref) {
  return cast<MemRefType>(memref.getType()).getShape();
}

int64_t dash::vectorWidth(int64_t columns, int64_t most) {
  int64_t powerOfTwo = columns & -columns; // the largest one that divides it
  return std::min(powerOfTwo, most);
}
