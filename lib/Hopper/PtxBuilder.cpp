//===- PtxBuilder.cpp - the machine's instructions in short form ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Hopper/PtxBuilder.h"
#include "dash/Hopper/PtxAssembly.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dash;
using arith::CmpIPredicate;

/// A mask of a warp's lanes.
static constexpr int64_t allLanes = -1;

static bool isFloat(Value value) { return isa<FloatType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static Value constant(PtxBuilder &b, Type type, int64_t value) {
  return arith::ConstantOp::create(b, IntegerAttr::get(type, value));
}

Value PtxBuilder::i1(bool value) { return constant(*this, getI1Type(), value); }
Value PtxBuilder::i32(int64_t value) { return constant(*this, getI32Type(), int32_t(value)); }
Value PtxBuilder::i64(int64_t value) { return constant(*this, getI64Type(), value); }
Value PtxBuilder::f32(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}

Value PtxBuilder::add(Value lhs, Value rhs) {
  return isFloat(lhs) ? Value(arith::AddFOp::create(*this, lhs, rhs))
                      : Value(arith::AddIOp::create(*this, lhs, rhs));
}
Value PtxBuilder::sub(Value lhs, Value rhs) {
  return isFloat(lhs) ? Value(arith::SubFOp::create(*this, lhs, rhs))
                      : Value(arith::SubIOp::create(*this, lhs, rhs));
}
Value PtxBuilder::mul(Value lhs, Value rhs) {
  return isFloat(lhs) ? Value(arith::MulFOp::create(*this, lhs, rhs))
                      : Value(arith::MulIOp::create(*this, lhs, rhs));
}
Value PtxBuilder::fma(Value a, Value b, Value c) {
  return LLVM::CallIntrinsicOp::create(*this, getF32Type(), getStringAttr("llvm.fma.f32"),
                                       ValueRange{a, b, c})
      .getResult(0);
}
Value PtxBuilder::negate(Value f32) { return arith::NegFOp::create(*this, f32); }
Value PtxBuilder::add(Value lhs, int64_t rhs) {
  return rhs == 0 ? lhs : add(lhs, constant(*this, lhs.getType(), rhs));
}
Value PtxBuilder::mul(Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs : mul(lhs, constant(*this, lhs.getType(), rhs));
}
Value PtxBuilder::quotient(Value lhs, Value rhs) { return arith::DivUIOp::create(*this, lhs, rhs); }
Value PtxBuilder::quotient(Value lhs, int64_t rhs) {
  return quotient(lhs, constant(*this, lhs.getType(), rhs));
}
Value PtxBuilder::remainder(Value lhs, Value rhs) {
  return arith::RemUIOp::create(*this, lhs, rhs);
}
Value PtxBuilder::remainder(Value lhs, int64_t rhs) {
  return remainder(lhs, constant(*this, lhs.getType(), rhs));
}
Value PtxBuilder::ceilDiv(Value lhs, int64_t rhs) { return quotient(add(lhs, rhs - 1), rhs); }
Value PtxBuilder::floorDiv(Value lhs, Value rhs) {
  // The quotient is rounded towards zero: one too high if the remainder is negative.
  Value towardsZero = arith::DivSIOp::create(*this, lhs, rhs);
  Value isTooHigh = below(lhs, mul(towardsZero, rhs));
  return choose(isTooHigh, add(towardsZero, -1), towardsZero);
}
Value PtxBuilder::bitAnd(Value lhs, int64_t rhs) {
  return arith::AndIOp::create(*this, lhs, constant(*this, lhs.getType(), rhs));
}
Value PtxBuilder::bitOr(Value lhs, Value rhs) { return arith::OrIOp::create(*this, lhs, rhs); }
Value PtxBuilder::bitXor(Value lhs, Value rhs) { return arith::XOrIOp::create(*this, lhs, rhs); }
Value PtxBuilder::shiftLeft(Value lhs, int64_t bits) {
  return arith::ShLIOp::create(*this, lhs, constant(*this, lhs.getType(), bits));
}
Value PtxBuilder::shiftLeft(Value lhs, Value bits) {
  return arith::ShLIOp::create(*this, lhs, bits);
}
Value PtxBuilder::shiftRight(Value lhs, int64_t bits) {
  return arith::ShRUIOp::create(*this, lhs, constant(*this, lhs.getType(), bits));
}
Value PtxBuilder::compare(CmpIPredicate predicate, Value lhs, Value rhs) {
  return arith::CmpIOp::create(*this, predicate, lhs, rhs);
}
Value PtxBuilder::equal(Value lhs, int64_t rhs) {
  return compare(CmpIPredicate::eq, lhs, constant(*this, lhs.getType(), rhs));
}
Value PtxBuilder::below(Value lhs, Value rhs) { return compare(CmpIPredicate::slt, lhs, rhs); }
Value PtxBuilder::below(Value lhs, int64_t rhs) {
  return below(lhs, constant(*this, lhs.getType(), rhs));
}
Value PtxBuilder::both(Value lhs, Value rhs) { return arith::AndIOp::create(*this, lhs, rhs); }
Value PtxBuilder::min(Value lhs, Value rhs) { return arith::MinSIOp::create(*this, lhs, rhs); }
Value PtxBuilder::max(Value lhs, Value rhs) { return arith::MaxSIOp::create(*this, lhs, rhs); }
Value PtxBuilder::choose(Value condition, Value then, Value otherwise) {
  return arith::SelectOp::create(*this, condition, then, otherwise);
}
Value PtxBuilder::toI64(Value i32) { return arith::ExtSIOp::create(*this, getI64Type(), i32); }
Value PtxBuilder::toI32(Value i64) { return arith::TruncIOp::create(*this, getI32Type(), i64); }
Value PtxBuilder::toF32(Value bits) { return arith::BitcastOp::create(*this, getF32Type(), bits); }
Value PtxBuilder::toBits(Value f32) { return arith::BitcastOp::create(*this, getI32Type(), f32); }

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value PtxBuilder::special(StringRef name) {
  std::string intrinsic = ("llvm.nvvm.read.ptx.sreg." + name).str();
  return LLVM::CallIntrinsicOp::create(*this, getI32Type(), getStringAttr(intrinsic), ValueRange{})
      .getResult(0);
}
static Value shuffle(PtxBuilder &b, Value i32, int64_t by, NVVM::ShflKind kind) {
  constexpr int64_t wholeWarp = 31;
  return NVVM::ShflOp::create(b, b.getI32Type(), b.i32(allLanes), i32, b.i32(by), b.i32(wholeWarp),
                              kind, /*return_value_and_is_valid=*/UnitAttr());
}
Value PtxBuilder::uniform(Value i32) { return shuffle(*this, i32, 0, NVVM::ShflKind::idx); }
Value PtxBuilder::shuffleXor(Value i32, int64_t laneMask) {
  return shuffle(*this, i32, laneMask, NVVM::ShflKind::bfly);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

Value PtxBuilder::offset(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer, bytes);
}
Value PtxBuilder::offset(Value pointer, int64_t bytes) {
  return bytes == 0 ? pointer : offset(pointer, i64(bytes));
}
Value PtxBuilder::load(Type type, Value pointer, int64_t alignment) {
  return LLVM::LoadOp::create(*this, type, pointer, alignment);
}
void PtxBuilder::store(Value value, Value pointer, int64_t alignment) {
  LLVM::StoreOp::create(*this, value, pointer, alignment);
}
Value PtxBuilder::address(Value pointer) {
  return LLVM::PtrToIntOp::create(*this, getI64Type(), pointer);
}
Value PtxBuilder::shared(Value address, int64_t offset) {
  constexpr unsigned space = 3;
  auto type = LLVM::LLVMPointerType::get(getContext(), space);
  return this->offset(LLVM::IntToPtrOp::create(*this, type, address), offset);
}
SmallVector<Value> PtxBuilder::loadVector(Type element, int64_t count, Value pointer) {
  Value all = load(VectorType::get(count, element), pointer, 4 * count);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(LLVM::ExtractElementOp::create(*this, all, i32(i)));
  return elements;
}
void PtxBuilder::storeVector(ValueRange elements, Value pointer) {
  int64_t count = elements.size();
  Value all = LLVM::PoisonOp::create(*this, VectorType::get(count, elements[0].getType()));
  for (int64_t i = 0; i < count; ++i)
    all = LLVM::InsertElementOp::create(*this, all, elements[i], i32(i));
  store(all, pointer, 4 * count);
}
SmallVector<Value> PtxBuilder::streamIn(Value pointer) {
  return ptx::ldGlobalNcNoAllocateV4B32(*this, pointer);
}
SmallVector<Value> PtxBuilder::streamInWritten(Value pointer) {
  return ptx::ldGlobalNoAllocateV4B32(*this, pointer);
}
void PtxBuilder::store16(ValueRange words, Value pointer) {
  assert(words.size() == 4 && "four words are 16 bytes");
  storeVector(words, pointer);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void PtxBuilder::ifThen(Value condition, llvm::function_ref<void()> then) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  then();
}

SmallVector<Value> PtxBuilder::ifElse(Value condition,
                                      llvm::function_ref<SmallVector<Value>()> then,
                                      llvm::function_ref<SmallVector<Value>()> otherwise) {
  // Result types are known only after a branch has been built: builds both branches, then the op
  // around them.
  auto build = [&](Region &region, llvm::function_ref<SmallVector<Value>()> body) {
    InsertionGuard guard(*this);
    createBlock(&region);
    SmallVector<Value> values = body();
    scf::YieldOp::create(*this, values);
    return values;
  };
  auto op = scf::IfOp::create(*this, TypeRange{}, condition, /*addThenBlock=*/false,
                              /*addElseBlock=*/false);
  SmallVector<Value> values = build(op.getThenRegion(), then);
  build(op.getElseRegion(), otherwise);
  if (values.empty())
    return {};
  auto typed = scf::IfOp::create(*this, ValueRange(values).getTypes(), condition,
                                 /*addThenBlock=*/false, /*addElseBlock=*/false);
  typed.getThenRegion().takeBody(op.getThenRegion());
  typed.getElseRegion().takeBody(op.getElseRegion());
  op.erase();
  return llvm::to_vector_of<Value>(typed.getResults());
}

SmallVector<Value>
PtxBuilder::forEach(Value begin, Value end, Value step, ValueRange carried,
                    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(*this, begin, end, step, carried,
                               [&](OpBuilder &, Location, Value i, ValueRange values) {
                                 InsertionGuard guard(*this);
                                 Block *block = i.getParentBlock();
                                 setInsertionPointToEnd(block);
                                 SmallVector<Value> next = body(i, values);
                                 scf::YieldOp::create(*this, next);
                               });
  return llvm::to_vector_of<Value>(op.getResults());
}

//===----------------------------------------------------------------------===//
// Warps and blocks
//===----------------------------------------------------------------------===//

void PtxBuilder::syncBlock() { NVVM::BarrierOp::create(*this); }
Value PtxBuilder::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(*this, getI32Type(), i32(allLanes), condition,
                                  NVVM::VoteSyncKind::ballot);
}
Value PtxBuilder::countBits(Value i32) {
  return LLVM::CallIntrinsicOp::create(*this, getI32Type(), getStringAttr("llvm.ctpop.i32"),
                                       ValueRange{i32})
      .getResult(0);
}
Value PtxBuilder::sumOverWarp(Value i32) {
  return NVVM::ReduxOp::create(*this, getI32Type(), i32, NVVM::ReduxKind::ADD, this->i32(allLanes));
}

//===----------------------------------------------------------------------===//
// Small things
//===----------------------------------------------------------------------===//

Value PtxBuilder::isInfinite(Value f32) {
  return equal(bitAnd(toBits(f32), 0x7fffffff), 0x7f800000);
}
