//===- dash-opt.cpp - run dash passes on .mlir files ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Driver/OptMain.h"
#include "dash/Driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::dash::registerUpstream(registry);
  return mlir::dash::runOpt(argc, argv, registry);
}
