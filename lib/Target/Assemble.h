//===- Assemble.h - what ptxas says of PTX ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_TARGET_ASSEMBLE_H
#define DASH_LIB_TARGET_ASSEMBLE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::dash {

/// What an entry needs of a multiprocessor, beside dynamic shared memory.
struct EntryResources {
  int64_t registers = 0;  ///< of a thread
  int64_t spillBytes = 0; ///< stored and loaded, of a thread
};

/// Resources by the name of the entry.
using AssembledPtx = llvm::StringMap<EntryResources>;

/// The path of an assembler: that of `tool`, which is a path or the name of one on PATH; with "auto" of the ptxas on PATH, or "" without one.
std::string findPtxas(llvm::StringRef tool);

/// Assembles for `chip`. Fails with ptxas' text where it warns, or says that it serialized products
/// (C75xx).
llvm::Expected<AssembledPtx> assemble(llvm::StringRef ptxas, llvm::StringRef chip,
                                      llvm::StringRef ptx);

} // namespace mlir::dash

#endif // DASH_LIB_TARGET_ASSEMBLE_H
