//===- TileLoops.h - a task's computations as loops -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles are f32 buffers, also for half types: their elements are then numbers of the half type.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LIB_CPU_TILELOOPS_H
#define DASH_LIB_CPU_TILELOOPS_H

#include "LoopBuilder.h"

namespace mlir::dash {

/// Where the rows of a tile lie in a whole tensor.
struct TileRows {
  Value batch;
  Value head;       ///< that of the tile's row 0
  Value first;      ///< the tensor's row at the tile's row 0
  Value count;      ///< rows of the tile that are in the sequence
  int64_t fold = 1; ///< heads of a row of the tensor, which follow each other in the tile
};
/// The row of the tensor, and which of the heads, that a row of a tile is.
Value rowInFold(LoopBuilder &b, Value row, int64_t fold);
Value headInFold(LoopBuilder &b, Value row, int64_t fold);

void emitFill(LoopBuilder &b, Value buffer, Value number);
void emitCopy(LoopBuilder &b, Value from, Value to);
/// `to` is a slot of a workspace.
void emitCopyToSlot(LoopBuilder &b, Value from, Value workspace, Value slot);

/// Rows past the end of the sequence are zero.
void emitLoad(LoopBuilder &b, Value source, const TileRows &rows, Value tile);
/// The factor may be null.
void emitStore(LoopBuilder &b, Value tile, Value target, const TileRows &rows, Value scale);

struct TileProduct {
  Value a;
  bool transposeA;
  Value b;
  bool transposeB;
  Value accumulate; ///< or null
  Value result;     ///< a separate buffer
  Value transposed; ///< scratch for the transpose of b, if it is needed
};
/// Each element is a sum in the order of the inner index.
void emitProduct(LoopBuilder &b, const TileProduct &product);

/// `isVisible` tells for (row of the q tile, row of the kv tile) whether the pair counts. Scores
/// have the rows of q as rows, or as columns.
void emitProbability(LoopBuilder &b, Value scores, Value lse, Value scale, Value result,
                     bool hasQRows, llvm::function_ref<Value(Value, Value)> isVisible);
/// tanh of scores over the cap; the factor may be null.
void emitSoftcap(LoopBuilder &b, Value scores, Value scale, double cap, Value result);
/// P times the slope of the cap; `capped` is the result of `emitSoftcap`.
void emitDamp(LoopBuilder &b, Value probability, Value capped, Value result);
void emitRound(LoopBuilder &b, Value tile, Type half, Value result);
void emitScoreGradient(LoopBuilder &b, Value probability, Value gradient, Value delta, Type half,
                       bool hasQRows, Value result);

/// On whole tensors.
void emitDelta(LoopBuilder &b, Value o, Value dOut, Value delta);
/// Adds rows in runs of `rowsOfRun`, a power of two, and gives one sum for each run. `sequences`
/// has the first row and the number of rows of each sequence of a list; it is null for a batch.
void emitSinkGradient(LoopBuilder &b, Value sink, Value lse, Value delta, Value dsink,
                      Value sequences, int64_t rowsOfRun);
void emitConvert(LoopBuilder &b, Value source, Value target, Value scale);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_TILELOOPS_H
