//===- Version.cpp - the version of dash ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Support/Version.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

llvm::StringRef mlir::dash::version() { return "dash " DASH_VERSION ", LLVM " LLVM_VERSION_STRING; }

void mlir::dash::answerVersion() {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << version() << '\n'; });
}
