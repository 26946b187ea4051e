//===- Panels.h - the panels that a factor may have -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_PANELS_H
#define DASH_IR_PANELS_H

#include "dash/IR/DashAttrs.h"

namespace mlir::dash {

/// Whether products can read `part` columns at each multiple of `part` from a factor with `columns`
/// columns. Panels are equally far from each other only if a warpgroup's part begins with one, or
/// lies within one.
bool canReadColumns(SwizzledAttr layout, int64_t columns, int64_t part);

/// The widest panels that `columns` columns fill and whose parts products can read; null if there
/// are none.
SwizzledAttr widestPanels(MLIRContext *context, int64_t columns, llvm::ArrayRef<int64_t> parts);

} // namespace mlir::dash

#endif // DASH_IR_PANELS_H
