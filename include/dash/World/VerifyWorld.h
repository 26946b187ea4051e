//===- VerifyWorld.h - prove a plan -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_WORLD_VERIFYWORLD_H
#define DASH_WORLD_VERIFYWORLD_H

#include "dash/World/WorldPlan.h"

namespace mlir::dash::world {

/// Proves a plan, whoever made it; or fails with the rule that it breaks, and the place (dialects/dash/docs/world.md). What a plan must
/// be is derived here from the definitions, not by the functions that make plans.
llvm::Error verifyWorld(const World &world, const WorldPlan &plan);

} // namespace mlir::dash::world

#endif // DASH_WORLD_VERIFYWORLD_H
