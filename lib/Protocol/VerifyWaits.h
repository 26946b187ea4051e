//===- VerifyWaits.h - what is waited for is given on ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PROTOCOL_VERIFYWAITS_H
#define DASH_LIB_PROTOCOL_VERIFYWAITS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Along every path the role gives on as many slots as it waits for: else the channel's other end stops for ever.
LogicalResult verifyBalance(RoleOp role);

} // namespace mlir::dash

#endif // DASH_LIB_PROTOCOL_VERIFYWAITS_H
