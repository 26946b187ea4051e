//===- RunProgram.h - run a program and wait without alarms -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_RUNPROGRAM_H
#define DASH_SUPPORT_RUNPROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <chrono>
#include <string>

namespace mlir::dash {

/// Runs a program with empty standard input, and its output in the file `output` ("" for nowhere).
/// Returns its exit status; below 0, with `why`, if it did not run to its end: it is missing, a
/// signal ended it, or it took more than `mostSeconds`.
int runProgram(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments,
               llvm::StringRef output, std::chrono::seconds mostSeconds, std::string &why);

} // namespace mlir::dash

#endif // DASH_SUPPORT_RUNPROGRAM_H
