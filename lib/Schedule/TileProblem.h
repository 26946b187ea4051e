//===- TileProblem.h - a whole problem as ops on tiles ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_TILEPROBLEM_H
#define DASH_LIB_SCHEDULE_TILEPROBLEM_H

#include "dash/IR/DashOps.h"
#include "dash/Schedule/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {

/// The rows and columns of tiles; tensors may have fewer columns.
struct TileSizes {
  TileShape rows;
  int64_t columns, columnsV;
};

/// Each writes the tiled form before the op, and erases the op.
void tileBackward(AttentionBwdOp op, const TileSizes &sizes, GradientSplit split);
void tileForward(AttentionFwdOp op, const TileSizes &sizes, double slack);

/// The factor on scores: the given one, or 1/sqrt(head dim).
Value scaleOf(ImplicitLocOpBuilder &b, Value given, int64_t headDim);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_TILEPROBLEM_H
