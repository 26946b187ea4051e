//===- Panels.h - which panels a factor may have ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_PANELS_H
#define DASH_IR_PANELS_H

#include "dash/IR/DashAttrs.h"

namespace mlir::dash {

/// Whether products can read `part` columns at each multiple of them out of a factor of so many: panels are all as far from each
/// other only if what a warpgroup reads begins at one, or lies within one.
bool canReadColumns(SwizzledAttr layout, int64_t columns, int64_t part);

/// The widest panels that so many columns fill, and that products can read the parts of; null if there are none.
SwizzledAttr widestPanels(MLIRContext *context, int64_t columns, llvm::ArrayRef<int64_t> parts);

} // namespace mlir::dash

#endif // DASH_IR_PANELS_H
