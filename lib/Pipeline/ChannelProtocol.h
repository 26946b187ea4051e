//===- ChannelProtocol.h - do roles ever wait for ever ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_CHANNELPROTOCOL_H
#define DASH_LIB_PIPELINE_CHANNELPROTOCOL_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Each channel of the worker has one putting and one getting role, what is put is got and what is
/// got released, as often in an item and as often in a step; and with the depths planned no role
/// waits for ever. Turns of ordered adds are not looked at: the schedule's proof is about those.
LogicalResult simulateTokens(WorkersOp workers);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_CHANNELPROTOCOL_H
