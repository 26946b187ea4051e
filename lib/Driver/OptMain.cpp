//===- OptMain.cpp - the tool dash-opt ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All options, from pipelines to reproducers, are those of mlir-opt.
//
//===----------------------------------------------------------------------===//

#include "dash/Driver/OptMain.h"
#include "dash/Driver/Registration.h"
#include "dash/Support/Version.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Process.h"

using namespace mlir;

/// Options that are there before any of ours are those of LLVM, above all of its code generators. They
/// work, but --help is about dash and MLIR; --help-hidden lists them all.
static void hideOptionsOfLlvm() {
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (llvm::is_contained(entry.second->Categories, &llvm::cl::getGeneralCategory()))
      entry.second->setHiddenFlag(llvm::cl::Hidden);
}

/// Where a diagnostic stands is enough: an op of ours may have megabytes. With the option in the command line it is printed.
static void leaveOpsOutOfDiagnostics() {
  registerMLIRContextCLOptions();
  auto *option = llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(false);
}

int dash::runOpt(int argc, char **argv, DialectRegistry &registry) {
  // With standard output closed, the next file to be opened would be it, and take what is printed.
  if (llvm::sys::Process::FixupStandardFileDescriptors())
    return 1;
  hideOptionsOfLlvm();
  leaveOpsOutOfDiagnostics();
  answerVersion();
  registerDash(registry);
  registerDashPasses();
  return asMainReturnCode(MlirOptMain(argc, argv, "deterministic attention compiler\n", registry));
}
