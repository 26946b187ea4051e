//===- TargetDescription.h - what of a chip is a number --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whoever plans for a chip and whoever checks a plan ask the same description. What dash chooses by
// itself, such as the bytes that it leaves for barriers, is not here but beside the plan.
//===----------------------------------------------------------------------===//

#ifndef DASH_IR_TARGETDESCRIPTION_H
#define DASH_IR_TARGETDESCRIPTION_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::dash {

/// Threads of a warp and warps of a warpgroup: the PTX ISA's, for every chip.
constexpr int64_t threadsOfWarp = 32, warpsOfWarpgroup = 4;

/// A chip that kernels are made for. A worker is one of its blocks, alone on a multiprocessor.
struct TargetDescription {
  llvm::StringLiteral chip;     ///< as PTX names it
  llvm::StringLiteral features; ///< the PTX ISA that kernels are written in, as LLVM spells it
  llvm::StringLiteral products; ///< whose it is, for people
  int64_t capability;           ///< compute capability, ten times the major number and the minor

  int64_t multiprocessors; ///< of the largest product; an order's workers by default

  int64_t maxWarps;    ///< of a block
  int64_t sharedBytes; ///< of shared memory that a block may have

  int64_t registers;    ///< of a block, shared by all its threads
  int64_t registerUnit; ///< in which a thread's registers are given out
  /// What a role may ask for with `setmaxnreg`.
  int64_t minRegisters, maxRegisters;
};

/// The chip that is meant where no option names one.
constexpr llvm::StringLiteral defaultTarget = "sm_90a";

/// All chips that dash knows.
llvm::ArrayRef<TargetDescription> knownTargets();

/// The description of a chip, by its name in PTX; an error that says which are known, and null, if
/// it is none of them.
const TargetDescription *findTarget(StringRef chip,
                                    llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dash

#endif // DASH_IR_TARGETDESCRIPTION_H
