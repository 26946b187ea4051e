//===- Assembler.h - ptxas, its code and its messages -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only code that runs ptxas. Its output may be correct and several times too slow: CUDA 12.3's
// ptxas makes each product of the tensor cores wait for the one before it, and CUDA 12.5's puts
// waits between them. It reports that, but its exit status is that of success.
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

/// The versions that work, for messages. Each release from 12.3 on was tried.
inline constexpr llvm::StringLiteral goodAssemblers = "that of CUDA 12.4, 12.6 or newer";

/// A program that assembles PTX.
struct Assembler {
  std::string path;
  std::string about; ///< its whole version text, in one line, which identifies its code
  std::string why;   ///< the reason if it reports no version: `about` is empty then
};

/// Asks a program for its version.
Assembler askAssembler(llvm::StringRef path);

/// "'/usr/bin/ptxas' (CUDA 12.3.107)".
std::string spell(const Assembler &assembler);

/// The paths of the assemblers to try, the best first. If the environment's DASH_PTXAS names a
/// program, only that one, which need not exist. Else each ptxas on PATH, and then that of
/// /usr/local/cuda. Each appears once.
std::vector<std::string> findAssemblers();

/// The line in which an assembler, or a driver's, reports that products wait for each other; empty
/// if there is none.
llvm::StringRef findWaits(llvm::StringRef said);

struct Assembled {
  std::string code, said;
};

/// Assembles a module for a chip such as sm_90a. Fails, with the program's name, version and text,
/// if it refuses the module or reports that products wait for each other.
llvm::Expected<Assembled> assemble(const Assembler &assembler, llvm::StringRef chip,
                                   llvm::StringRef ptx,
                                   llvm::ArrayRef<llvm::StringRef> options = {});

} // namespace mlir::dash

#endif // DASH_SUPPORT_ASSEMBLER_H
