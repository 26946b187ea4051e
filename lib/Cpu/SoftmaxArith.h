//===- SoftmaxArith.h - arithmetic of online softmaxes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_SOFTMAXARITH_H
#define DASH_LIB_CPU_SOFTMAXARITH_H

#include "LoopBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

namespace mlir::dash {

/// The score of what the mask hides, and the logarithm of a sum of nothing.
constexpr float hiddenScore = -std::numeric_limits<float>::infinity();

inline Value sumOf(LoopBuilder &b, Value lhs, Value rhs) {
  return arith::AddFOp::create(b, lhs, rhs);
}
inline Value productOf(LoopBuilder &b, Value lhs, Value rhs) {
  return arith::MulFOp::create(b, lhs, rhs);
}
inline Value compare(LoopBuilder &b, arith::CmpFPredicate predicate, Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, predicate, lhs, rhs);
}
inline Value choose(LoopBuilder &b, Value condition, Value then, Value otherwise) {
  return arith::SelectOp::create(b, condition, then, otherwise);
}

/// A function of f64, rounded once.
template <typename Op> Value inDouble(LoopBuilder &b, Value number) {
  Value wide = arith::ExtFOp::create(b, b.getF64Type(), number);
  return arith::TruncFOp::create(b, b.getF32Type(), Op::create(b, wide));
}
inline Value powerOf2(LoopBuilder &b, Value exponent) {
  return inDouble<math::Exp2Op>(b, exponent);
}

} // namespace mlir::dash

#endif // DASH_LIB_CPU_SOFTMAXARITH_H
