//===- InitTool.h - what each tool does first -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_INITTOOL_H
#define DASH_SUPPORT_INITTOOL_H

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include <csignal>

namespace mlir::dash {

/// Lives as long as `main`, and must be created before `main` opens anything. For tools only: it
/// changes the process.
class InitTool {
public:
  /// If standard output is closed, the next file to be opened would take its place and receive
  /// printed text, so /dev/null is opened instead. A file that grows past the user's limit becomes
  /// an error of the write, not a crash.
  InitTool(int &argc, char **&argv)
      : isReady(!llvm::sys::Process::FixupStandardFileDescriptors()), llvm(argc, argv) {
    std::signal(SIGXFSZ, SIG_IGN);
  }

  /// False if not even /dev/null can be opened.
  explicit operator bool() const { return isReady; }

private:
  bool isReady;
  llvm::InitLLVM llvm;
};

} // namespace mlir::dash

#endif // DASH_SUPPORT_INITTOOL_H
