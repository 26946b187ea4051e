//===- PlanWorld.h - a world from a shell ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_TOOLS_DASHPLAN_PLANWORLD_H
#define DASH_TOOLS_DASHPLAN_PLANWORLD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace mlir::dash {

/// Options that orders have, too.
struct SharedOptions {
  std::string kind, costs; ///< empty where they are not given
  int64_t headDim;
  unsigned repeats; ///< 0 where they are not given
};

/// `--world`: shares documents out over ranks, and says what comes out, as text. Fails with what was expected and found.
llvm::Expected<std::string> planWorld(const SharedOptions &shared);

/// Whether `--world` was given; without it, fails where one of its options was.
llvm::Expected<bool> isWorld();

extern llvm::cl::OptionCategory worldCategory;

} // namespace mlir::dash

#endif // DASH_TOOLS_DASHPLAN_PLANWORLD_H
