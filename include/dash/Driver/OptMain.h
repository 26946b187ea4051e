//===- OptMain.h - the tool dash-opt ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_DRIVER_OPTMAIN_H
#define DASH_DRIVER_OPTMAIN_H

namespace mlir {
class DialectRegistry;
namespace dash {

/// Runs dash-opt once. `registry` has the upstream dialects that modules may use; dash is added.
/// Returns the exit status.
int runOpt(int argc, char **argv, DialectRegistry &registry);

} // namespace dash
} // namespace mlir

#endif // DASH_DRIVER_OPTMAIN_H
