//===- Passes.h - passes of Steps -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_STEPS_PASSES_H
#define DASH_STEPS_PASSES_H

#include "dash/IR/KernelAttrs.h"
#include "dash/IR/WordOptions.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::dash {

/// The words of a trace's level.
inline auto traceLevelWords() {
  return llvm::cl::values(
      clEnumValN(TraceLevel::None, "none", "no trace"),
      clEnumValN(TraceLevel::Items, "items", "where each role begins an item"),
      clEnumValN(TraceLevel::Turns, "turns", "and which turns reducers take and give"),
      clEnumValN(TraceLevel::All, "all", "and what else roles wait for and do"));
}

} // namespace mlir::dash

DASH_WORD_OPTION(mlir::dash::TraceLevel)

namespace mlir::dash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Steps/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_STEPS_PASSES_H
