//===- ReportFile.h - what a pass writes beside the module -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_REPORTFILE_H
#define DASH_IR_REPORTFILE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dash {

/// Writes a file whole or not at all. Pipes and devices are written as they come; - is standard
/// output.
llvm::Error writeReportFile(StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace mlir::dash

#endif // DASH_IR_REPORTFILE_H
