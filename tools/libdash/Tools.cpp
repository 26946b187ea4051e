//===- Tools.cpp - the command-line tools as functions --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash-c/Tools.h"
#include "RunMain.h"
#include "dash/Driver/OptMain.h"
#include "dash/Driver/Registration.h"
#include "dash/Support/WriteFile.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <unistd.h>

/// Flushes the tool's output however it ends: no destructor does (NoDestructors.cpp).
static void flushWhenDone() {
  on_exit(
      [](int, void *) {
        llvm::Error error = mlir::dash::writeFile("-", "");
        if (!error)
          return;
        llvm::errs() << "error: " << llvm::toString(std::move(error)) << '\n';
        _exit(1);
      },
      nullptr);
}

int dashOptMain(int argc, char **argv) {
  flushWhenDone();
  mlir::DialectRegistry registry;
  mlir::dash::registerDialectsOfPrograms(registry);
  mlir::registerTransformsPasses();
  return mlir::dash::runOpt(argc, argv, registry);
}

int dashRunMain(int argc, char **argv) {
  flushWhenDone();
  mlir::DialectRegistry registry;
  mlir::dash::registerDialectsOfPrograms(registry);
  return runDashRun(argc, argv, registry);
}
