//===- IssueOrder.h - when an op of a walk is issued ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_ISSUEORDER_H
#define DASH_LIB_PIPELINE_ISSUEORDER_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// An op of a walk, and the step it works on: 0 for the next, 1 for this one, 2 for the one before.
struct Issue {
  Operation *op;
  int64_t stage;
};

/// The ops that an iteration of a software-pipelined walk issues, in order; empty if the walk has
/// no stages.
SmallVector<Issue> getIssueOrder(WalkOp walk);

/// Makes the walk a software pipeline: moves the ops to the order of issue, and sets their stages.
void setIssueOrder(WalkOp walk, ArrayRef<Issue> order);

/// The time at which an op runs, counted in issues from the iteration in which its step is the next
/// one.
int64_t getTime(const Issue &issue, int64_t position, int64_t iterationLength);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_ISSUEORDER_H
