//===- dash-lsp-server.cpp - completion and diagnostics in an editor ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dash/Driver/Registration.h"
#include "dash/Support/InitTool.h"
#include "dash/Support/Version.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/LogicalResult.h"

int main(int argc, char **argv) {
  mlir::dash::InitTool init(argc, argv);
  if (!init)
    return 1;
  mlir::dash::answerVersion();
  mlir::DialectRegistry registry;
  mlir::dash::registerDash(registry);
  mlir::dash::registerUpstream(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
