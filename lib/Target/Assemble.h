//===- Assemble.h - what ptxas says of PTX ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_TARGET_ASSEMBLE_H
#define DASH_LIB_TARGET_ASSEMBLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir::dash {

/// What an entry needs of a multiprocessor, beside dynamic shared memory.
struct EntryResources {
  int64_t registers = 0;  ///< of a thread
  int64_t spillBytes = 0; ///< stored and loaded, of a thread
};

/// Resources by the name of the entry.
using AssembledPtx = llvm::StringMap<EntryResources>;

/// The paths of assemblers that have a turn: that of `tool`, which is a path or the name of one on PATH; with "auto" those of
/// `findAssemblers`, which may be none.
std::vector<std::string> findPtxas(llvm::StringRef tool);

/// Assembles for `chip` with the first of `tools` that neither refuses the PTX, nor warns, nor lets products wait for each other. Fails
/// with what each of them said where none is left.
llvm::Expected<AssembledPtx> assembleForResources(llvm::ArrayRef<std::string> tools,
                                                  llvm::StringRef chip, llvm::StringRef ptx);

} // namespace mlir::dash

#endif // DASH_LIB_TARGET_ASSEMBLE_H
