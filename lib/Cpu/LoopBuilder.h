//===- LoopBuilder.h - loops and arithmetic in short form -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_LOOPBUILDER_H
#define DASH_LIB_CPU_LOOPBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {

/// An op builder for counted loops over memrefs. Integers have type index.
class LoopBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value index(int64_t value);
  Value f32(double value);
  Value add(Value lhs, Value rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value min(Value lhs, Value rhs);
  Value both(Value lhs, Value rhs); ///< of two i1
  /// lhs <= rhs, lhs < rhs, as signed numbers.
  Value atMost(Value lhs, Value rhs);
  Value below(Value lhs, Value rhs);
  Value dim(Value memref, int64_t dimension);

  Value load(Value memref, ValueRange indices);
  void store(Value value, Value memref, ValueRange indices);

  /// Converts an element of a half type exactly; f32 stays.
  Value toF32(Value value);
  /// Rounds f32 to the nearest number of `type`, ties to even; f32 stays.
  Value roundTo(Type type, Value value);

  void forEach(Value begin, Value end, int64_t step, llvm::function_ref<void(Value)> body);
  void forEach(Value end, llvm::function_ref<void(Value)> body);
  void forEach(int64_t end, llvm::function_ref<void(Value)> body);
  /// Runs `body` on (i, its last result) for i from begin to end - 1, and returns the last result.
  Value fold(Value begin, Value end, Value init, llvm::function_ref<Value(Value, Value)> body);

  /// Allocates rows of f32 memory, 64-byte aligned.
  Value allocate(ArrayRef<int64_t> shape);
};

/// The shape of a statically shaped memref.
ArrayRef<int64_t> shapeOf(Value memref);

/// The number of elements of a vector: the largest power of two up to `most` that divides rows of
/// `columns` elements.
int64_t vectorWidth(int64_t columns, int64_t most);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_LOOPBUILDER_H
