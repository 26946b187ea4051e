//===- Passes.h - passes of the stage Target -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_TARGET_PASSES_H
#define DASH_TARGET_PASSES_H

#include "dash/IR/TargetDescription.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::dash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Target/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_TARGET_PASSES_H
