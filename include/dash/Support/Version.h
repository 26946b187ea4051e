//===- Version.h - the version of dash --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_VERSION_H
#define DASH_SUPPORT_VERSION_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dash {

/// Such as "dash 0.1.0, LLVM 22.1.8".
llvm::StringRef version();

/// Makes --version of this tool print it. Call it before the command line is read.
void answerVersion();

} // namespace mlir::dash

#endif // DASH_SUPPORT_VERSION_H
