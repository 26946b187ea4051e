//===- dash-run.cpp - run a scheduled program on the CPU ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RunMain.h"
#include "dash/Driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::dash::registerUpstream(registry);
  return runDashRun(argc, argv, registry);
}
