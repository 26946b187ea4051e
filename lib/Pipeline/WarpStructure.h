//===- WarpStructure.h - how consumers share the tensor core ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_WARPSTRUCTURE_H
#define DASH_LIB_PIPELINE_WARPSTRUCTURE_H

#include "dash/IR/DashOps.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Pipeline/Passes.h"

namespace mlir::dash {

/// The requested structure or, if none is requested, the one whose tiles fit the registers of a
/// thread, with `threads` that multiply. An error if the requested one does not fit.
FailureOr<WarpStructure> chooseStructure(WalkOp walk, int64_t threads, StructureChoice asked,
                                         const TargetDescription &target);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_WARPSTRUCTURE_H
