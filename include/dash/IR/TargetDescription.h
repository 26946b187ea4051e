//===- TargetDescription.h - the numbers of a chip --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that plan for a chip and passes that check a plan use the same description. Choices of
// dash, such as the bytes reserved for barriers, are not here but beside the plan.
//
//===----------------------------------------------------------------------===//

#ifndef DASH_IR_TARGETDESCRIPTION_H
#define DASH_IR_TARGETDESCRIPTION_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::dash {

/// Threads of a warp and warps of a warpgroup, from the PTX ISA, for every chip.
constexpr int64_t threadsOfWarp = 32, warpsOfWarpgroup = 4;

/// A chip that kernels are made for. A worker is one block, alone on a multiprocessor.
struct TargetDescription {
  llvm::StringLiteral chip;     ///< PTX's name of it
  llvm::StringLiteral features; ///< the PTX version of kernels, in LLVM's spelling
  llvm::StringLiteral products; ///< product names, for messages
  int64_t capability;           ///< compute capability: ten times the major number plus the minor

  int64_t multiprocessors; ///< of the largest product; the default number of an order's workers

  int64_t maxWarps;    ///< of a block
  int64_t sharedBytes; ///< shared memory available to a block

  int64_t registers;    ///< of a block, shared by all its threads
  int64_t registerUnit; ///< granularity of a thread's registers
  /// The range of `setmaxnreg`.
  int64_t minRegisters, maxRegisters;

  /// Bytes that a multiprocessor reads or writes in a cycle: of shared memory; of L2, while all
  /// multiprocessors do.
  int64_t sharedBytesOfCycle, memoryBytesOfCycle;
};

/// The chip if no option names one.
constexpr llvm::StringLiteral defaultTarget = "sm_90a";

/// Every chip that dash knows.
llvm::ArrayRef<TargetDescription> knownTargets();

/// The description of a chip by its PTX name. If there is none, null, with an error that lists the
/// known ones.
const TargetDescription *findTarget(StringRef chip,
                                    llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dash

#endif // DASH_IR_TARGETDESCRIPTION_H
