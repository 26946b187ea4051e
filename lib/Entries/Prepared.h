//===- Prepared.h - what the entry before the main kernel has --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_PREPARED_H
#define DASH_LIB_ENTRIES_PREPARED_H

#include "RowSums.h"

namespace mlir::dash {

/// What the entry reads and makes ready.
struct Prepared {
  RowFactors factors; ///< null where delta is given
  TensorRoleAttr lse, delta;
  TensorRoleAttr sink;                ///< null without
  TensorRoleAttr ofQueries;           ///< what is summed of queries
  SmallVector<TensorRoleAttr> summed; ///< all that is

  bool takesDelta() const { return !factors.o; }
  /// What threads read of tensors.
  SmallVector<TensorRoleAttr> read() const {
    return takesDelta() ? SmallVector<TensorRoleAttr>{delta, lse}
                        : SmallVector<TensorRoleAttr>{factors.gradient, factors.o, lse};
  }
};

/// What `op` makes ready, a `dash.delta` or, where delta is given, the zeros of sums. Says what is missing.
FailureOr<Prepared> findPrepared(Operation *op, const Kernels &kernels);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_PREPARED_H
