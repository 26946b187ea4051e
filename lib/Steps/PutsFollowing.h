//===- PutsFollowing.h - puts that wait for their slots at once -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_PUTSFOLLOWING_H
#define DASH_LIB_STEPS_PUTSFOLLOWING_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// A put of a consumer, and those behind it in its block between which nothing is waited for, issued or committed.
SmallVector<PutOp> findPutsFollowing(PutOp first);

/// Has the numbers of uses of puts that follow each other computed in front of the first of them.
void hoistUsesOfPuts(RoleOp consumer);

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_PUTSFOLLOWING_H
