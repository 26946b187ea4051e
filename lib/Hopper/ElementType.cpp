//===- ElementType.cpp - 16-bit types in instructions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Hopper/ElementType.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::dash;

int64_t dash::tensorMapCode(FloatType element) {
  constexpr int64_t f16 = 6, bf16 = 10;
  return element.isF16() ? f16 : bf16;
}

Value dash::packPair(PtxBuilder &b, FloatType element, Value low, Value high) {
  Type pairType = VectorType::get(2, element);
  constexpr auto nearest = NVVM::FPRoundingMode::RN;
  Value randomBits; // unused when rounding to nearest
  Value pair =
      element.isF16()
          ? Value(NVVM::ConvertF32x2ToF16x2Op::create(b, pairType, high, low, randomBits, nearest))
          : Value(
                NVVM::ConvertF32x2ToBF16x2Op::create(b, pairType, high, low, randomBits, nearest));
  return LLVM::BitcastOp::create(b, b.getI32Type(), pair);
}

Value dash::unpackHalf(PtxBuilder &b, FloatType element, Value pair, PairHalf half) {
  bool isLow = half == PairHalf::Low;
  if (element.isBF16()) // the upper half of an f32
    return b.toF32(isLow ? b.shiftLeft(pair, 16) : b.bitAnd(pair, ~int64_t(0xffff)));
  Value both = LLVM::BitcastOp::create(b, VectorType::get(2, element), pair);
  Value one = LLVM::ExtractElementOp::create(b, both, b.i32(isLow ? 0 : 1));
  return LLVM::FPExtOp::create(b, b.getF32Type(), one);
}
