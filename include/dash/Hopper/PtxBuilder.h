//===- PtxBuilder.h - the machine's instructions, spelled shortly -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_HOPPER_PTXBUILDER_H
#define DASH_HOPPER_PTXBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {

/// An op builder for what one thread of a kernel does: arithmetic on i32, i64 and f32 (dialect arith),
/// memory (dialect llvm), loops (dialect scf), instructions of the machine (dialect nvvm). What no op can
/// say is assembly, all of it in PtxAssembly. Shared memory is addressed by 32-bit integers, as PTX does.
class PtxBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  // ---- Numbers. Operands of one op have one type.
  Value i1(bool value);
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  Value add(Value lhs, Value rhs); ///< of integers or floats, as are sub, mul
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value fma(Value a, Value b, Value c); ///< a * b + c in f32, rounded once
  Value negate(Value f32);
  Value add(Value lhs, int64_t rhs); ///< of integers, as are the other constants
  Value mul(Value lhs, int64_t rhs);
  Value quotient(Value lhs, Value rhs); ///< of numbers >= 0, rounded down
  Value quotient(Value lhs, int64_t rhs);
  Value remainder(Value lhs, Value rhs);
  Value remainder(Value lhs, int64_t rhs);
  Value ceilDiv(Value lhs, int64_t rhs); ///< of a number >= 0
  Value floorDiv(Value lhs, Value rhs);  ///< of any number by one > 0
  Value bitAnd(Value lhs, int64_t rhs);
  Value bitOr(Value lhs, Value rhs);
  Value bitXor(Value lhs, Value rhs);
  Value shiftLeft(Value lhs, int64_t bits);
  Value shiftLeft(Value lhs, Value bits);
  Value shiftRight(Value lhs, int64_t bits); ///< fills with zeros
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs);
  Value equal(Value lhs, int64_t rhs);
  Value below(Value lhs, Value rhs); ///< as signed numbers
  Value below(Value lhs, int64_t rhs);
  Value both(Value lhs, Value rhs); ///< of two i1
  Value min(Value lhs, Value rhs);  ///< of signed integers
  Value max(Value lhs, Value rhs);
  Value choose(Value condition, Value then, Value otherwise);
  Value toI64(Value i32);  ///< sign extended
  Value toI32(Value i64);  ///< the low half
  Value toF32(Value bits); ///< the same bits
  Value toBits(Value f32); ///< the same bits

  // ---- Threads.
  /// A special register: "tid.x", "ctaid.x", "laneid", ….
  Value special(StringRef name);
  /// The value of lane 0 in every lane: what the compiler then knows to be uniform in the warp.
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
  /// `count` numbers of 32 bits side by side, by one instruction: the pointer is aligned to all of them.
  SmallVector<Value> loadVector(Type element, int64_t count, Value pointer);
  void storeVector(ValueRange elements, Value pointer);
  /// 16 bytes that nobody writes while the kernel runs and that are read once, as four i32.
  SmallVector<Value> streamIn(Value pointer);
  /// The same of bytes that somebody has written since the kernel began, whom this thread has waited for.
  SmallVector<Value> streamInWritten(Value pointer);
  void store16(ValueRange words, Value pointer); ///< four words of 32 bits

  // ---- Control flow.
  void ifThen(Value condition, llvm::function_ref<void()> then);
  SmallVector<Value> ifElse(Value condition, llvm::function_ref<SmallVector<Value>()> then,
                            llvm::function_ref<SmallVector<Value>()> otherwise);
  /// Runs `body` on (i, carried) for begin <= i < end and gives what it gave last.
  SmallVector<Value> forEach(Value begin, Value end, Value step, ValueRange carried,
                             llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// Leaves the warp's other lanes out: runs `body` where `lane` is 0.
  void inOneLane(Value lane, llvm::function_ref<void()> body) { ifThen(equal(lane, 0), body); }

  // ---- Warps and blocks.
  /// bar.sync of all threads of the block.
  void syncBlock();
  /// A bit for each lane of the warp, by their i1; the number of bits that are set in an i32.
  Value ballot(Value condition);
  Value countBits(Value i32);
  Value sumOverWarp(Value i32);

  // ---- Small things that PTX has and arith has not.
  Value isInfinite(Value f32);
  Value laneOf(Value thread) { return bitAnd(thread, 31); }
  Value warpOf(Value thread) { return shiftRight(thread, 5); }
};

} // namespace mlir::dash

#endif // DASH_HOPPER_PTXBUILDER_H
