//===- Files.h - write all of some files, or none ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_TARGET_FILES_H
#define DASH_LIB_TARGET_FILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::dash {

struct OutputFile {
  std::string path;
  std::string bytes;
};

/// Writes all files, or leaves all as they were. A PTX without its manifest is useless, and one
/// with another's manifest is worse. The error names the path and the reason.
llvm::Error writeAllOrNone(llvm::ArrayRef<OutputFile> files);

} // namespace mlir::dash

#endif // DASH_LIB_TARGET_FILES_H
