//===- Passes.h - passes of the stage Schedule -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_PASSES_H
#define DASH_SCHEDULE_PASSES_H

#include "dash/IR/Problem.h"
#include "dash/IR/TargetDescription.h"
#include "dash/IR/WordOptions.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::dash {

/// How an order is written into the IR.
enum class OrderForm { Formulas, Table };

/// Which gradient has items of its own: none, dQ, whose items then own q tiles, or dV.
enum class GradientSplit { None, DQ, DV };
inline auto splitWords() {
  return llvm::cl::values(
      clEnumValN(GradientSplit::None, "none", "one loop over kv tiles for all"),
      clEnumValN(GradientSplit::DV, "dv", "a loop over kv tiles for dV, and one for dK and dQ"),
      clEnumValN(GradientSplit::DQ, "dq", "a loop over kv tiles, and one over q tiles for dQ"));
}

/// The format of a report.
enum class ReportFormat { Table, Json, Svg, Trace };

/// The level that an order must keep: the problem's own, or one that is no weaker. Numbers are
/// those of DeterminismLevel.
enum class LevelChoice { Run, Batch, Machine, Own = 5 };
inline auto levelWords() {
  return llvm::cl::values(clEnumValN(LevelChoice::Run, "run", "the same bits in every run"),
                          clEnumValN(LevelChoice::Batch, "batch", "whatever is beside a sequence"),
                          clEnumValN(LevelChoice::Machine, "machine", "on any number of workers"),
                          clEnumValN(LevelChoice::Own, "own", "the problem's"));
}

/// Which contributions wait for no turn. Numbers are those of Apart.
enum class ApartChoice { None, Parts, All, Auto };
inline auto apartWords() {
  return llvm::cl::values(clEnumValN(ApartChoice::None, "none", "every one waits"),
                          clEnumValN(ApartChoice::Parts, "parts", "those to dK and dV"),
                          clEnumValN(ApartChoice::All, "all", "none waits"),
                          clEnumValN(ApartChoice::Auto, "auto", "what takes least by prediction"));
}

} // namespace mlir::dash

DASH_WORD_OPTION(mlir::dash::OrderForm)
DASH_WORD_OPTION(mlir::dash::GradientSplit)
DASH_WORD_OPTION(mlir::dash::ReportFormat)
DASH_WORD_OPTION(mlir::dash::LevelChoice)
DASH_WORD_OPTION(mlir::dash::ApartChoice)

namespace mlir::dash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Schedule/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PASSES_H
