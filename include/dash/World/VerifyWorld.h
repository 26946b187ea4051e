//===- VerifyWorld.h - prove a plan -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_WORLD_VERIFYWORLD_H
#define DASH_WORLD_VERIFYWORLD_H

#include "dash/World/WorldPlan.h"

namespace mlir::dash::world {

/// Proves a plan of any origin, or fails with the broken rule and the place
/// (dialects/dash/docs/world.md). The requirements are derived here from the definitions, not with
/// the functions that make plans.
llvm::Error verifyWorld(const World &world, const WorldPlan &plan);

} // namespace mlir::dash::world

#endif // DASH_WORLD_VERIFYWORLD_H
