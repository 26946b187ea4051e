//===- PutsFollowing.h - puts that wait for their slots together -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_PUTSFOLLOWING_H
#define DASH_LIB_STEPS_PUTSFOLLOWING_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// A put of a consumer, and the puts after it in its block without a wait, an issue or a commit
/// between them.
SmallVector<PutOp> findPutsFollowing(PutOp first);

/// Moves the computation of use numbers of consecutive puts before the first of them.
void hoistUsesOfPuts(RoleOp consumer);

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_PUTSFOLLOWING_H
