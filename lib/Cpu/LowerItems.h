//===- LowerItems.h - scheduled items, as loops ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_LOWERITEMS_H
#define DASH_LIB_CPU_LOWERITEMS_H

#include "dash/IR/TensorRoles.h"
#include "dash/Schedule/Schedule.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::dash {

struct ItemsLoweringOptions {
  /// Workspaces are new arguments of the function, not memory of its own.
  bool contributionsAreArguments = false;
};

/// Replaces scheduled items by loops that one thread runs. Says why where it cannot; `items` is gone
/// where it can. `schedule` has been proven.
FailureOr<int64_t> lowerItems(ItemsOp items, const Schedule &schedule, SymbolTable &symbols,
                              const ItemsLoweringOptions &options);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_LOWERITEMS_H
