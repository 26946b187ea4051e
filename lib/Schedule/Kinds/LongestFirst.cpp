//===- LongestFirst.cpp - items that own q tiles, longest first -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Items that own q tiles wait for nothing, so a run takes what its last worker takes. Items are
// dealt longest first: under a causal mask the last q tile of every head, then the tile before it,
// and so on. The short items fill up what the long ones leave. Heads go in bundles whose K and V
// stay in L2 while their items run. Every item walks its kv tiles first to last, so the bits are
// those of `ascending`.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/OrderWithin.h"

using namespace mlir;
using namespace mlir::dash;

/// A bundle has as many heads as have two items for each worker: all of them then share K and V of
/// few heads, about 17 MB at head dim 128. Its items are its heads' longest q tiles, then the next
/// ones. The last bundle may have fewer heads. Sequences with more q tiles than that need none.
static Piecewise longestItems(const Problem &problem, MLIRContext *context) {
  ItemInputs in(context);
  AffineExpr perRound = in.workers * 2; // up the workers, and down again
  AffineExpr heads = clampToZero(perRound.floorDiv(in.qTiles) - 1, perRound) + 1;
  AffineExpr size = heads * in.qTiles;
  AffineExpr bundle = in.i.floorDiv(size), place = in.i % size, first = bundle * heads;
  AffineExpr left = in.groups - first;
  // A right bound alone leaves the last q tiles the most kv tiles, a left bound alone the first.
  Band band = problem.mask.edges().band;
  bool isLastLongest = band.left < 0 && band.right >= 0;
  bool areAlike = (band.left < 0) == (band.right < 0);
  // A bundle of items of many lengths begins with worker 0, so that long items meet short ones.
  AffineExpr unit = areAlike ? in.i : bundle * perRound + place;
  auto item = [&](AffineExpr first, AffineExpr place, AffineExpr heads,
                  AffineExpr unit) -> SmallVector<AffineExpr> {
    AffineExpr rank = place.floorDiv(heads);
    return {first + place % heads, isLastLongest ? in.qTiles - 1 - rank : rank, unit};
  };
  AffineExpr zero = getAffineConstantExpr(0, context), isShort = perRound - in.qTiles;
  SmallVector<AffineExpr> all = item(zero, in.i, in.groups, in.i);
  return select(
      {isShort, left - heads}, item(first, place, heads, unit),
      select(isShort, item(first, place, left, unit), in.formula(all[0], all[1], all[2])));
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
