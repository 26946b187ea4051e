//===- PtxBuilder.h - the machine's instructions in short form --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_HOPPER_PTXBUILDER_H
#define DASH_HOPPER_PTXBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {

/// An op builder for one thread of a kernel: arithmetic on i32, i64 and f32 (dialect arith), memory
/// (dialect llvm), loops (dialect scf), instructions of the machine (dialect nvvm). PtxAssembly has
/// all assembly, for instructions without an op. Addresses in shared memory are 32-bit integers, as
/// in PTX.
class PtxBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  // ---- Numbers. The operands of an op have the same type.
  Value i1(bool value);
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  Value add(Value lhs, Value rhs); ///< integers or floats, like sub and mul
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value fma(Value a, Value b, Value c); ///< a * b + c in f32, rounded once
  Value negate(Value f32);
  Value add(Value lhs, int64_t rhs); ///< integers, like the other constants
  Value mul(Value lhs, int64_t rhs);
  Value quotient(Value lhs, Value rhs); ///< numbers >= 0, rounded down
  Value quotient(Value lhs, int64_t rhs);
  Value remainder(Value lhs, Value rhs);
  Value remainder(Value lhs, int64_t rhs);
  Value ceilDiv(Value lhs, int64_t rhs); ///< a number >= 0
  Value floorDiv(Value lhs, Value rhs);  ///< any number by a number > 0
  Value bitAnd(Value lhs, int64_t rhs);
  Value bitOr(Value lhs, Value rhs);
  Value bitXor(Value lhs, Value rhs);
  Value shiftLeft(Value lhs, int64_t bits);
  Value shiftLeft(Value lhs, Value bits);
  Value shiftRight(Value lhs, int64_t bits); ///< fills with zeros
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs);
  Value equal(Value lhs, int64_t rhs);
  Value below(Value lhs, Value rhs); ///< signed comparison
  Value below(Value lhs, int64_t rhs);
  Value both(Value lhs, Value rhs); ///< two i1
  Value min(Value lhs, Value rhs);  ///< signed integers
  Value max(Value lhs, Value rhs);
  Value choose(Value condition, Value then, Value otherwise);
  Value toI64(Value i32);  ///< sign extended
  Value toI32(Value i64);  ///< the low half
  Value toF32(Value bits); ///< the same bits
  Value toBits(Value f32); ///< the same bits

  // ---- Threads.
  /// A special register: "tid.x", "ctaid.x", "laneid", ….
  Value special(StringRef name);
  /// The value of lane 0 in every lane. The compiler then knows that it is uniform in the warp.
  Value uniform(Value i32);
  Value shuffleXor(Value i32, int64_t laneMask);

  // ---- Global memory.
  Value offset(Value pointer, Value bytes); ///< bytes: i32 (sign extended) or i64
  Value offset(Value pointer, int64_t bytes);
  Value load(Type type, Value pointer, int64_t alignment = 0);
  void store(Value value, Value pointer, int64_t alignment = 0);
  Value address(Value pointer); ///< as an i64
  /// A pointer to shared memory.
  Value shared(Value address, int64_t offset = 0);
  /// `count` consecutive 32-bit numbers in one instruction: the pointer is aligned to all of them.
  SmallVector<Value> loadVector(Type element, int64_t count, Value pointer);
  void storeVector(ValueRange elements, Value pointer);
  /// 16 bytes, as four i32, that are constant while the kernel runs and are read once.
  SmallVector<Value> streamIn(Value pointer);
  /// The same for bytes written since the kernel began; this thread has waited for the write.
  SmallVector<Value> streamInWritten(Value pointer);
  void store16(ValueRange words, Value pointer); ///< four words of 32 bits

  // ---- Control flow.
  void ifThen(Value condition, llvm::function_ref<void()> then);
  SmallVector<Value> ifElse(Value condition, llvm::function_ref<SmallVector<Value>()> then,
                            llvm::function_ref<SmallVector<Value>()> otherwise);
  /// Runs `body` on (i, carried) for begin <= i < end, and returns its last result.
  SmallVector<Value> forEach(Value begin, Value end, Value step, ValueRange carried,
                             llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// Runs `body` only in the lane where `lane` is 0.
  void inOneLane(Value lane, llvm::function_ref<void()> body) { ifThen(equal(lane, 0), body); }

  // ---- Warps and blocks.
  /// bar.sync of all threads of the block.
  void syncBlock();
  /// A mask with one bit for each lane of the warp, from their i1; the number of bits set in an
  /// i32.
  Value ballot(Value condition);
  Value countBits(Value i32);
  Value sumOverWarp(Value i32);

  // ---- Operations that PTX has and arith lacks.
  Value isInfinite(Value f32);
  Value laneOf(Value thread) { return bitAnd(thread, 31); }
  Value warpOf(Value thread) { return shiftRight(thread, 5); }
};

} // namespace mlir::dash

#endif // DASH_HOPPER_PTXBUILDER_H
