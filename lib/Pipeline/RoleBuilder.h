//===- RoleBuilder.h - writes roles and channels ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_ROLEBUILDER_H
#define DASH_LIB_PIPELINE_ROLEBUILDER_H

#include "RoleCut.h"

namespace mlir::dash {

/// Replaces the items of a cut problem by `dash.workers`: its channels, and a role for each part of
/// the cut. `beginsAhead`: an item begins beside the end of the one before. `handsOut`: items are
/// drawn while it runs, so one role has all loads.
void buildRoles(RoleCut &cut, bool beginsAhead, bool handsOut);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_ROLEBUILDER_H
