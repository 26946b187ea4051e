//===- LongestFirst.cpp - items that own q tiles, longest first -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Items that own q tiles wait for nothing, so a run takes what its last worker takes. Items are
// dealt longest first: under a causal mask the last q tile of every head, then the tile before it,
// and so on. The short items fill up what the long ones leave. Every item walks its kv tiles first
// to last, so the bits are those of `ascending`.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/OrderWithin.h"

using namespace mlir;
using namespace mlir::dash;

/// Item i is a q tile of group i mod groups, so that the heads of a tile follow each other.
static Piecewise longestItems(const Problem &problem, MLIRContext *context) {
  ItemInputs in(context);
  Band band = problem.mask.edges().band;
  AffineExpr rank = in.i.floorDiv(in.groups);
  // A right bound alone leaves the last q tiles the most kv tiles, a left bound alone the first.
  bool isLastLongest = band.left < 0 && band.right >= 0;
  return in.formula(in.i % in.groups, isLastLongest ? in.qTiles - 1 - rank : rank, in.i);
}

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context,
                              EmitError emitError) {
  LineInputs in(context);
  WideOrder wide{maskOfFormulas(header.problem.mask),
                 {longestItems(header.problem, context), dealBackAndForth(context),
                  tileAtStep(header.problem, in), /*turn=*/{}},
                 /*step=*/in.formula(in.position)};
  return orderWithin(header, std::move(wide), emitError);
}

static constexpr llvm::StringLiteral summary =
    "kv tiles first to last, items with the most of them first; no worker is left with a long one";

namespace mlir::dash::kinds {
extern const ScheduleKind LongestFirst = {"longest-first",        summary, build,
                                          /*purpose=*/nullptr,
                                          /*isSearched=*/false,
                                          /*isUnordered=*/false,
                                          /*summaryOfQ=*/summary,
                                          /*servesKv=*/false};
} // namespace mlir::dash::kinds
