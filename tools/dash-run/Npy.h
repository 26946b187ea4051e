//===- Npy.h - arrays in files ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_TOOLS_RUN_NPY_H
#define DASH_TOOLS_RUN_NPY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace dash_run {

/// An array as numpy's format NPY stores it, in C order. Only dash's types: "<u2" (bf16 as its
/// bits), "<f2" and "<f4".
struct NpyArray {
  std::string type;
  llvm::SmallVector<int64_t> shape;
  std::vector<char> data;
};

/// "[1, 2, 50, 64]", as messages show it.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// Reads a file of version 1, 2 or 3 with at most `mostBytes` bytes of data. Errors name the file,
/// what was expected and what was found.
llvm::Expected<NpyArray> readNpy(llvm::StringRef path, uint64_t mostBytes);

/// The bytes of a file of version 1 (numpy's default) before the array's data.
std::string npyHeader(llvm::StringRef type, llvm::ArrayRef<int64_t> shape);

} // namespace dash_run

#endif // DASH_TOOLS_RUN_NPY_H
