//===- Passes.h - passes of the stage Pipeline -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_PIPELINE_PASSES_H
#define DASH_PIPELINE_PASSES_H

#include "dash/IR/TargetDescription.h"
#include "dash/IR/WordOptions.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dash {

/// The structure of consumers that is requested: one of the two, or the one that fits a thread's
/// registers.
enum class StructureChoice { Fitting, Alternating, Overlapping };
inline auto structureWords() {
  return llvm::cl::values(
      clEnumValN(StructureChoice::Fitting, "fitting", "what fits registers"),
      clEnumValN(StructureChoice::Alternating, "alternating", "warpgroups take turns"),
      clEnumValN(StructureChoice::Overlapping, "overlapping", "products of each run side by side"));
}

/// Which roles multiply: one that does it all, or one for each gradient that an item sums up.
enum class ConsumerChoice { Fitting, Together, ByGradient };
inline auto consumerWords() {
  return llvm::cl::values(
      clEnumValN(ConsumerChoice::Fitting, "fitting", "together where a thread holds all sums"),
      clEnumValN(ConsumerChoice::Together, "together", "one role multiplies"),
      clEnumValN(ConsumerChoice::ByGradient, "by-gradient", "a role for each sum of an item"));
}

} // namespace mlir::dash

DASH_WORD_OPTION(mlir::dash::StructureChoice)
DASH_WORD_OPTION(mlir::dash::ConsumerChoice)

namespace mlir::dash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Pipeline/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_PIPELINE_PASSES_H
