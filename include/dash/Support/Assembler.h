//===- Assembler.h - ptxas, what it makes, and what it says ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that runs ptxas runs it here. Its code may be right and several times too slow: CUDA 12.3's lets each product of the tensor cores
// wait for the one before it, and CUDA 12.5's puts waits between them. It says so, and its status is that of success.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_SUPPORT_ASSEMBLER_H
#define DASH_SUPPORT_ASSEMBLER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir::dash {

/// What serves, for messages. Each release from 12.3 on was tried.
inline constexpr llvm::StringLiteral goodAssemblers = "that of CUDA 12.4, 12.6 or newer";

/// A program that assembles PTX.
struct Assembler {
  std::string path;
  std::string about; ///< all that it prints of its version, in one line: what its code follows from
  std::string why;   ///< where it does not say its version: `about` is empty then
};

/// Asks a program for its version.
Assembler askAssembler(llvm::StringRef path);

/// "'/usr/bin/ptxas' (CUDA 12.3.107)".
std::string spell(const Assembler &assembler);

/// The paths of those that have a turn, the best first: the program that the environment's DASH_PTXAS names, which need not be there,
/// and no other; else each ptxas on PATH, and then that of /usr/local/cuda. Each once.
std::vector<std::string> findAssemblers();

/// The line in which an assembler, of a driver too, says that products wait for each other; empty where it says nothing of it.
llvm::StringRef findWaits(llvm::StringRef said);

struct Assembled {
  std::string code, said;
};

/// Assembles a module for a chip such as sm_90a. Fails with the program's name, version and words where it refuses the module,
/// or says that products wait for each other.
llvm::Expected<Assembled> assemble(const Assembler &assembler, llvm::StringRef chip,
                                   llvm::StringRef ptx,
                                   llvm::ArrayRef<llvm::StringRef> options = {});

} // namespace mlir::dash

#endif // DASH_SUPPORT_ASSEMBLER_H
