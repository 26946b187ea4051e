//===- Passes.h - passes of the stage Pipeline -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_PIPELINE_PASSES_H
#define DASH_PIPELINE_PASSES_H

#include "dash/IR/TargetDescription.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Pipeline/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_PIPELINE_PASSES_H
