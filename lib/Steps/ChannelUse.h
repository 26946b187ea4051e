//===- ChannelUse.h - the number of an op's use of a channel ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_CHANNELUSE_H
#define DASH_LIB_STEPS_CHANNELUSE_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// The operand that numbers the use; empty for an op that does not put, wait for, commit, release
/// or borrow a slot.
inline std::optional<MutableOperandRange> useOf(Operation *op) {
  if (auto put = dyn_cast<PutOp>(op))
    return put.getUseMutable();
  if (auto wait = dyn_cast<WaitOp>(op))
    return wait.getUseMutable();
  if (auto commit = dyn_cast<CommitOp>(op))
    return commit.getUseMutable();
  if (auto release = dyn_cast<ReleaseOp>(op))
    return release.getUseMutable();
  if (auto store = dyn_cast<StoreOp>(op); store && store.getThrough())
    return store.getUseMutable();
  return std::nullopt;
}

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_CHANNELUSE_H
