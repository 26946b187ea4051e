//===- Passes.h - passes between stages ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_DRIVER_PASSES_H
#define DASH_DRIVER_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::dash {

/// The stages of the flow, in its order.
enum class Stage { IR, Schedule, Pipeline, Lowering, Target };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Driver/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_DRIVER_PASSES_H
