//===- LowerItems.h - scheduled items as loops ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_LOWERITEMS_H
#define DASH_LIB_CPU_LOWERITEMS_H

#include "dash/IR/TensorRoles.h"
#include "dash/Schedule/Schedule.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::dash {

struct ItemsLoweringOptions {
  /// Workspaces become new arguments of the function, not its own memory.
  bool contributionsAreArguments = false;
};

/// Replaces scheduled items by loops for one thread. `schedule` must be proven. On success `items`
/// is erased; on failure an error says why.
FailureOr<int64_t> lowerItems(ItemsOp items, const Schedule &schedule, SymbolTable &symbols,
                              const ItemsLoweringOptions &options);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_LOWERITEMS_H
