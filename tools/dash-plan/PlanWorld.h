//===- PlanWorld.h - plan a world from a shell ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_TOOLS_DASHPLAN_PLANWORLD_H
#define DASH_TOOLS_DASHPLAN_PLANWORLD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace mlir::dash {

/// Options that orders have too.
struct SharedOptions {
  std::string kind, costs; ///< empty if not given
  int64_t headDim;
  unsigned repeats; ///< 0 if not given
};

/// `--world`: distributes documents over ranks, and returns a report as text. Fails with what was
/// expected and found.
llvm::Expected<std::string> planWorld(const SharedOptions &shared);

/// Whether `--world` was given. Without it, fails if one of its options was given.
llvm::Expected<bool> isWorld();

extern llvm::cl::OptionCategory worldCategory;

} // namespace mlir::dash

#endif // DASH_TOOLS_DASHPLAN_PLANWORLD_H
