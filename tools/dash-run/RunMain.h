//===- RunMain.h - the tool dash-run ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_TOOLS_DASH_RUN_RUNMAIN_H
#define DASH_TOOLS_DASH_RUN_RUNMAIN_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

/// Runs dash-run once. `registry` has the upstream dialects that programs may use; dash is added.
/// Returns the exit status.
int runDashRun(int argc, char **argv, mlir::DialectRegistry &registry);

#endif // DASH_TOOLS_DASH_RUN_RUNMAIN_H
