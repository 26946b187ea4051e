//===- Prepared.h - what the entry before the main kernel prepares -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_PREPARED_H
#define DASH_LIB_ENTRIES_PREPARED_H

#include "RowSums.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dash {

/// What the entry reads and prepares.
struct Prepared {
  RowFactors factors; ///< null if delta is given
  TensorRoleAttr lse, delta;
  TensorRoleAttr sink;                ///< null if there is none
  TensorRoleAttr ofQueries;           ///< sums over keys, for each query, dQ; null without them
  SmallVector<TensorRoleAttr> summed; ///< all sums

  bool takesDelta() const { return !factors.o; }
  /// The tensors that threads read.
  SmallVector<TensorRoleAttr> read() const {
    return takesDelta() ? SmallVector<TensorRoleAttr>{delta, lse}
                        : SmallVector<TensorRoleAttr>{factors.gradient, factors.o, lse};
  }
};

/// What `op` prepares: a `dash.delta` or, if delta is given, the zeros of sums. Errors name what is
/// missing.
FailureOr<Prepared> findPrepared(Operation *op, const Kernels &kernels);

/// Whether the function's kernels add sums of queries.
FailureOr<bool> addsSumsOfQueries(FunctionOpInterface function);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_PREPARED_H
