//===- Tools.cpp - the command-line tools as functions --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash-c/Tools.h"
#include "RunMain.h"
#include "dash/Driver/OptMain.h"
#include "dash/Driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"

int dashOptMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::dash::registerDialectsOfPrograms(registry);
  mlir::registerTransformsPasses();
  return mlir::dash::runOpt(argc, argv, registry);
}

int dashRunMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::dash::registerDialectsOfPrograms(registry);
  return runDashRun(argc, argv, registry);
}
