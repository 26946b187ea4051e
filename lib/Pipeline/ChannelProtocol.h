//===- ChannelProtocol.h - whether a role can wait forever ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_CHANNELPROTOCOL_H
#define DASH_LIB_PIPELINE_CHANNELPROTOCOL_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Checks each channel of the worker. It has one putting and one getting role. What is put is got,
/// and what is got is released, as often in an item and as often in a step. With the planned depths
/// no role waits forever. Turns of ordered adds are not checked here: the schedule's proof covers
/// them.
LogicalResult simulateTokens(WorkersOp workers);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_CHANNELPROTOCOL_H
