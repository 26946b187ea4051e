//===- Coverage.h - which programs kernels cover ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list for the pass that refuses a program early, and for the lowerings, which build on it.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_PIPELINE_COVERAGE_H
#define DASH_PIPELINE_COVERAGE_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// What has to be among the cases that kernels are made for. Elements are not: kernels have what the dialect has.
struct KernelCase {
  int64_t headDim, headDimV;
  MaskAttr mask;
  TilesAttr tiles;
  int64_t parts;
};

/// Says what kernels cover where `one` is something else.
LogicalResult verifyCovered(const KernelCase &one,
                            llvm::function_ref<InFlightDiagnostic()> emitError);
/// Says what to run where nobody has proven an order.
LogicalResult verifyProven(ScheduleOp schedule, llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dash

#endif // DASH_PIPELINE_COVERAGE_H
