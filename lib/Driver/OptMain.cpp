//===- OptMain.cpp - the tool dash-opt ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All options, from pipelines to reproducers, are those of mlir-opt. One difference: output is
// written whole at the end, not piece by piece.
//
//===----------------------------------------------------------------------===//

#include "dash/Driver/OptMain.h"
#include "dash/Driver/Registration.h"
#include "dash/Support/InitTool.h"
#include "dash/Support/Nesting.h"
#include "dash/Support/Version.h"
#include "dash/Support/WriteFile.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

/// Options that exist before dash adds its own belong to LLVM, mostly to its code generators. They
/// work, but --help is about dash and MLIR; --help-hidden lists them all.
static void hideOptionsOfLlvm() {
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (llvm::is_contained(entry.second->Categories, &llvm::cl::getGeneralCategory()))
      entry.second->setHiddenFlag(llvm::cl::Hidden);
}

/// The location of a diagnostic is enough: a dash op may have megabytes of text. The option on the
/// command line prints it.
static void leaveOpsOutOfDiagnostics() {
  registerMLIRContextCLOptions();
  auto *option = llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(false);
}

using dash::mostNesting;
using dash::nestsDeeper;

static LogicalResult run(StringRef inputPath, StringRef outputPath, DialectRegistry &registry,
                         const MlirOptMainConfig &config) {
  auto refuse = [](const Twine &why) {
    llvm::WithColor::error(llvm::errs(), "dash-opt") << why << "\n";
    return failure();
  };
  if (inputPath == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(processing input from stdin now, hit ctrl-c/ctrl-d to interrupt)\n";
  std::string message, text;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputPath, &message);
  if (!input)
    return refuse(message);
  if (!isBytecode(input->getMemBufferRef()) && nestsDeeper(input->getBuffer(), mostNesting))
    return refuse("'" + inputPath + "': brackets nest deeper than " + Twine(mostNesting) +
                  " levels, which no parser's stack is made for");
  llvm::raw_string_ostream output(text);
  LogicalResult result = MlirOptMain(output, std::move(input), registry, config);
  // A file is written only by a successful run. Standard output shows what there was before the
  // failure.
  if (succeeded(result) || outputPath == "-")
    if (llvm::Error error = dash::writeFile(outputPath, text))
      return refuse(llvm::toString(std::move(error)));
  return result;
}

int dash::runOpt(int argc, char **argv, DialectRegistry &registry) {
  InitTool init(argc, argv);
  if (!init)
    return 1;
  hideOptionsOfLlvm();
  leaveOpsOutOfDiagnostics();
  answerVersion();
  registerDash(registry);
  registerDashPasses();
  auto [input, output] =
      registerAndParseCLIOptions(argc, argv, "deterministic attention compiler\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  return asMainReturnCode(run(input, output, registry, config));
}
