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

/// Bytes of K and V that the items of a bundle of heads read: a third of the L2 of an H100, because
/// a bundle begins before the one in front of it has ended.
static constexpr int64_t bytesOfBundle = int64_t(1) << 24;

/// Where items are of many lengths, bundles of long sequences have too few of them for workers to
/// end together. What is measured on an H100 (test/Device/forwards.py): up to 2048 rows bundles are
/// up to 1.66x faster, with more up to 1.57x slower.
static constexpr int64_t mostKvTilesOfBundles = 16;

/// A bundle's items are its heads' longest q tiles, then the next ones: the heads of a tile follow
/// each other. The last bundle may have fewer heads.
static Piecewise longestItems(const Problem &problem, MLIRContext *context) {
  ItemInputs in(context);
  constexpr int64_t bytesOfElement = 2;
  int64_t bytesOfTile = problem.tiles.kv * (problem.headDim + problem.headDimV) * bytesOfElement;
  AffineExpr heads =
      getAffineConstantExpr(bytesOfBundle / bytesOfTile, context).floorDiv(in.kvTiles) + 1;
  AffineExpr first = in.i.floorDiv(heads * in.qTiles) * heads;
  AffineExpr place = in.i % (heads * in.qTiles), left = in.groups - first;
  // A right bound alone leaves the last q tiles the most kv tiles, a left bound alone the first.
  Band band = problem.mask.edges().band;
  bool isLastLongest = band.left < 0 && band.right >= 0;
  auto item = [&](AffineExpr first, AffineExpr place, AffineExpr size) -> SmallVector<AffineExpr> {
    AffineExpr rank = place.floorDiv(size);
    return {first + place % size, isLastLongest ? in.qTiles - 1 - rank : rank, in.i};
  };
  SmallVector<AffineExpr> last = item(first, place, left);
  if ((band.left < 0) == (band.right < 0)) // all are about as long
    return select(left - heads, item(first, place, heads), in.formula(last[0], last[1], last[2]));
  SmallVector<AffineExpr> whole = item(getAffineConstantExpr(0, context), in.i, in.groups);
  AffineExpr areShort = mostKvTilesOfBundles - in.kvTiles;
  return select({left - heads, areShort}, item(first, place, heads),
                select(areShort, last, in.formula(whole[0], whole[1], whole[2])));
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
