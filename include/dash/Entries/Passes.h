//===- Passes.h - passes of Entries -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_PASSES_H
#define DASH_ENTRIES_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::dash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Entries/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_ENTRIES_PASSES_H
