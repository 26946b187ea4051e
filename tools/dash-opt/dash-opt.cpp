//===- dash-opt.cpp - run dash passes on .mlir files ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All options, from pipelines to reproducers, are those of mlir-opt.
//
//===----------------------------------------------------------------------===//

#include "dash/Driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::dash::registerDash(registry);
  mlir::dash::registerDashPasses();
  mlir::dash::registerUpstream(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "deterministic attention compiler\n", registry));
}
