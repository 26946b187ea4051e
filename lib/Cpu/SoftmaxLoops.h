//===- SoftmaxLoops.h - the online softmax of a task as loops ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores have a row for each row of the q tile. Buffers are of f32.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LIB_CPU_SOFTMAXLOOPS_H
#define DASH_LIB_CPU_SOFTMAXLOOPS_H

#include "LoopBuilder.h"

namespace mlir::dash {

/// The state of rows that have seen the sink of their head, a score without a value. A tile's rows
/// have `fold` heads.
void emitSinkState(LoopBuilder &b, Value sink, Value head, int64_t fold, Value max, Value sum);
/// `isVisible` tells for (row of the q tile, row of the kv tile) whether the pair counts.
void emitVisible(LoopBuilder &b, Value scores, Value result,
                 llvm::function_ref<Value(Value, Value)> isVisible);
/// The factor on scores may be null, here and below.
void emitRunningMax(LoopBuilder &b, Value scores, Value max, Value scale, double slack,
                    Value result, Value factor);
void emitExponential(LoopBuilder &b, Value scores, Value max, Value scale, Value result);
void emitRunningSum(LoopBuilder &b, Value probability, Value sum, Value factor, Value result);
void emitRescale(LoopBuilder &b, Value value, Value factor, Value result);
void emitFinish(LoopBuilder &b, Value value, Value max, Value sum, Value output, Value lse);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_SOFTMAXLOOPS_H
