//===- TileWidths.h - columns of tiles --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_TILEWIDTHS_H
#define DASH_LIB_SCHEDULE_TILEWIDTHS_H

#include "dash/IR/DashOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {

/// The width of tiles for tensors with `columns` columns: the least of `widths` that has room for
/// all tensors, or the tensor's own width if `widths` is empty. `verifyWidths` comes first.
int64_t widthOf(AttentionOpInterface op, int64_t columns, ArrayRef<int64_t> widths);

/// Whether tiles can have these widths, and one has room for the op's tensors.
LogicalResult verifyWidths(AttentionOpInterface op, ArrayRef<int64_t> widths);

/// `value` with a type that states each leading size that the type of any of `others` states.
/// `others` have the same sizes.
Value withStatedSizes(ImplicitLocOpBuilder &b, Value value, ArrayRef<Value> others,
                      ArrayRef<unsigned> dims);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_TILEWIDTHS_H
