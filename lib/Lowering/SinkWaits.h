//===- SinkWaits.h - wait where a slot is first read -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_SINKWAITS_H
#define DASH_LIB_LOWERING_SINKWAITS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Moves every wait of a consumer that only products need down to the first of them, and in front of that product the load
/// of a factor that is held in registers. A wait that a branch needs goes into both branches: to the first product that
/// reads the slot, or to the end of the branch without one.
void sinkWaits(RoleOp consumer);

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_SINKWAITS_H
