//===- Passes.h - passes of Protocol ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_PROTOCOL_PASSES_H
#define DASH_PROTOCOL_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::dash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Protocol/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_PROTOCOL_PASSES_H
