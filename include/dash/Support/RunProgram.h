//===- RunProgram.h - other programs, waited for without alarms -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SUPPORT_RUNPROGRAM_H
#define DASH_SUPPORT_RUNPROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <chrono>
#include <string>

namespace mlir::dash {

/// Runs a program with nothing on its standard input, and what it prints in the file `output` ("" for nowhere). Gives its exit status;
/// below 0, with `why`, where it did not run to its end: it is not there, was ended by a signal, or took more than `mostSeconds`.
int runProgram(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments,
               llvm::StringRef output, std::chrono::seconds mostSeconds, std::string &why);

} // namespace mlir::dash

#endif // DASH_SUPPORT_RUNPROGRAM_H
