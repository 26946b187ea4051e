//===- Passes.h - passes of Steps -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_STEPS_PASSES_H
#define DASH_STEPS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::dash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Steps/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_STEPS_PASSES_H
