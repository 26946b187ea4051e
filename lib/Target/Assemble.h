//===- Assemble.h - what ptxas reports about PTX ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_TARGET_ASSEMBLE_H
#define DASH_LIB_TARGET_ASSEMBLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir::dash {

/// What an entry needs of a multiprocessor, apart from dynamic shared memory.
struct EntryResources {
  int64_t registers = 0;  ///< for each thread
  int64_t spillBytes = 0; ///< bytes stored and loaded by each thread
};

/// Resources by the name of the entry.
using AssembledPtx = llvm::StringMap<EntryResources>;

/// The paths of the assemblers to try. `tool` is a path or the name of a program on PATH. "auto"
/// gives those of `findAssemblers`; there may be none.
std::vector<std::string> findPtxas(llvm::StringRef tool);

/// Assembles for `chip` with the first of `tools` that accepts the PTX without a warning and
/// without serializing products. If none does, fails with the answer of each.
llvm::Expected<AssembledPtx> assembleForResources(llvm::ArrayRef<std::string> tools,
                                                  llvm::StringRef chip, llvm::StringRef ptx);

} // namespace mlir::dash

#endif // DASH_LIB_TARGET_ASSEMBLE_H
