//===- Passes.h - passes between stages ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_DRIVER_PASSES_H
#define DASH_DRIVER_PASSES_H

#include "dash/IR/WordOptions.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::dash {

/// The stages of the flow, in order.
enum class Stage { IR, Schedule, Pipeline, Lowering, Target };

} // namespace mlir::dash

DASH_WORD_OPTION(mlir::dash::Stage)

namespace mlir::dash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Driver/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_DRIVER_PASSES_H
