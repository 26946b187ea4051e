//===- InitTool.h - what each tool does before all else --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_INITTOOL_H
#define DASH_SUPPORT_INITTOOL_H

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include <csignal>

namespace mlir::dash {

/// Lives as long as `main`, and is made before it opens anything. For tools alone: what it changes is the process's.
class InitTool {
public:
  /// With standard output closed, the next file to be opened would be it, and take what is printed: it goes to /dev/null instead. A file
  /// that grows past the user's limit is an error of the write, and no crash.
  InitTool(int &argc, char **&argv)
      : isReady(!llvm::sys::Process::FixupStandardFileDescriptors()), llvm(argc, argv) {
    std::signal(SIGXFSZ, SIG_IGN);
  }

  /// False where there is not even a /dev/null.
  explicit operator bool() const { return isReady; }

private:
  bool isReady;
  llvm::InitLLVM llvm;
};

} // namespace mlir::dash

#endif // DASH_SUPPORT_INITTOOL_H
