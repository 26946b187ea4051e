//===- Prepared.h - what the entry before the main kernel prepares -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_PREPARED_H
#define DASH_LIB_ENTRIES_PREPARED_H

#include "RowSums.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dash {

/// What the entry reads and prepares.
struct Prepared {
  RowFactors factors;                 ///< null if delta is given
  TensorRoleAttr lse, delta;          ///< null where dS is read, so none is needed
  TensorRoleAttr tasks;               ///< tiles of tasks that kernels write; null without them
  TensorRoleAttr sink;                ///< null if there is none
  TensorRoleAttr ofQueries;           ///< sums over keys, for each query, dQ; null without them
  SmallVector<TensorRoleAttr> summed; ///< all sums

  bool takesDelta() const { return !factors.o; }
  bool hasRows() const { return bool(lse); }
  /// The tensors that threads read.
  SmallVector<TensorRoleAttr> read() const {
    if (!hasRows())
      return {};
    return takesDelta() ? SmallVector<TensorRoleAttr>{delta, lse}
                        : SmallVector<TensorRoleAttr>{factors.gradient, factors.o, lse};
  }
};

/// What `op` prepares: a `dash.delta` or, if delta is given, the zeros of sums. Errors name what is
/// missing.
FailureOr<Prepared> findPrepared(Operation *op, const Kernels &kernels);

/// The op of a function that stands for what is prepared: its `dash.delta`. Where delta is given,
/// or nothing needs it, that is the zeros of its sums or, without sums, its end. Null for others.
FailureOr<Operation *> findPreparing(FunctionOpInterface function);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_PREPARED_H
