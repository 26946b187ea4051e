//===- LongestFirst.cpp - items dealt longest first -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where items wait for nothing, a run takes what its last worker takes. Items are dealt longest
// first: under a causal mask the last q tile of every head (or the first kv tile), then the tile
// beside it, and so on. The short items fill up what the long ones leave. Heads go in bundles whose
// walked tiles stay in L2 while their items run. Every item walks its tiles first to last, so the
// bits of its own sums are those of `ascending`.
//
// Items that own kv tiles wait for nothing where a program has no dQ. Chains of a program that has
// it go as items are issued, so items may be handed out at run time. But workers of a head then
// wait for one another as in `ascending`, so `auto` does not take the kind there.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/OrderWithin.h"

using namespace mlir;
using namespace mlir::dash;

/// Heads side by side, if a problem has as many. So each one's tiles are walked by eight workers or
/// more at once, on a card of 132: L2 brings them from memory once for all of those.
static constexpr int64_t headsOfKv = 16;

/// The last own tiles are the longest, or the first ones, or all are equally long. Where items own
/// q, a right bound alone leaves the last tiles the most to walk, a left bound alone the first;
/// where they own kv it is the other way around. First columns of a mask make first kv tiles
/// longer.
enum class Longest { First, Last, None };
static Longest findLongest(const Problem &problem) {
  const Mask &mask = problem.mask;
  Band band = mask.edges().band;
  if ((band.left < 0) == (band.right < 0))
    return Longest::None;
  bool isRight = band.right >= 0;
  if (problem.ownsQ())
    return isRight ? Longest::Last : Longest::First;
  if (isRight)
    return Longest::First;
  return mask.rules.empty() ? Longest::Last : Longest::None;
}

/// Sweeps over the workers that a bundle of heads takes. More of them fill a run better, but what
/// the heads walk must stay in L2 beside all else: 9 MB of K and V in a sweep of 132 workers at
/// head dim 128, whose bundles take two, 6 MB at 64, whose bundles take four.
static int64_t sweepsOfBundle(const Problem &problem) {
  if (!problem.ownsQ())
    return 2;
  constexpr int64_t bytesInL2 = 27'000'000, items = 132, bytesOfElement = 2;
  int64_t bytesOfItem =
      problem.tiles.rowsOfQ() * (problem.headDim + problem.headDimV) * bytesOfElement;
  return std::max<int64_t>(bytesInL2 / (2 * items * bytesOfItem), 1) * 2;
}

/// Heads whose items run side by side, and share in L2 what they walk: as many as the sweeps have
/// items for, and two where one leaves a part of the sweeps empty. Heads of few tiles take one
/// sweep: they hardly differ in length, and Q and O take L2, too. Items that own kv tiles go in
/// more heads, if they differ in length.
static AffineExpr headsOfBundle(const Problem &problem, const ItemInputs &in) {
  int64_t sweeps = sweepsOfBundle(problem);
  AffineExpr one = getAffineConstantExpr(1, in.i.getContext()), most = in.workers * sweeps;
  auto atMostOne = [&](AffineExpr number) { return one - clampToZero(one - number, most * 2); };
  if (!problem.ownsQ())
    return clampToZero(most.floorDiv(in.kvTiles) - headsOfKv, most) + headsOfKv;
  AffineExpr areFew =
      atMostOne(in.workers.floorDiv(in.qTiles * (4 * std::min<int64_t>(sweeps, 4))));
  AffineExpr fewest = one + atMostOne(most.floorDiv(in.qTiles));
  AffineExpr items = most - areFew * in.workers * (sweeps - 1);
  return clampToZero(items.floorDiv(in.qTiles) - fewest, most) + fewest;
}

/// A bundle's items are its heads' longest tiles, then the next ones. What is less than a bundle at
/// the end joins the last one: alone, it would leave workers without an item, or with one too many.
static Piecewise longestItems(const Problem &problem, MLIRContext *context) {
  ItemInputs in(context);
  AffineExpr tiles = problem.ownsQ() ? in.qTiles : in.kvTiles;
  AffineExpr heads = headsOfBundle(problem, in), size = heads * tiles;
  AffineExpr last = clampToZero(in.groups.floorDiv(heads) - 1, in.groups);
  AffineExpr bundle = last - clampToZero(last - in.i.floorDiv(size), in.groups);
  AffineExpr place = in.i - bundle * size, first = bundle * heads;
  Longest longest = findLongest(problem);
  // A bundle begins with worker 0 and goes up, the next one with the last worker and goes down. So
  // long items meet short ones, and the item that some workers have more is not always theirs.
  AffineExpr sweeps = size.ceilDiv(in.workers).floorDiv(2) * 2 + 1;
  AffineExpr unit = bundle * sweeps * in.workers + place;
  auto item = [&](AffineExpr heads) -> SmallVector<AffineExpr> {
    AffineExpr rank = place.floorDiv(heads);
    return {first + place % heads, longest == Longest::Last ? tiles - 1 - rank : rank, unit};
  };
  SmallVector<AffineExpr> ofLast = item(in.groups - first);
  return select(last - bundle - 1, item(heads), in.formula(ofLast[0], ofLast[1], ofLast[2]));
}

/// Upward, whatever is longest: the walk of a sum's level `machine`.
static Piecewise walkedTile(const Problem &problem, const LineInputs &in) {
  return problem.ownsQ() ? tileAtStep(problem, in) : in.formula(in.first + in.position);
}

/// As items are issued.
static Piecewise turnOfItem(const Problem &problem, const LineInputs &in) {
  if (problem.ownsQ())
    return {};
  return findLongest(problem) == Longest::Last ? in.formula(in.last - in.kv)
                                               : turnByTile(problem, in);
}

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context,
                              EmitError emitError) {
  const Problem &problem = header.problem;
  LineInputs in(context);
  bool isAscending = findLongest(problem) == Longest::None;
  WideOrder wide{maskOfFormulas(problem.mask),
                 {!isAscending      ? longestItems(problem, context)
                  : problem.ownsQ() ? itemsOfQInOrder(context)
                                    : itemsInOrder(context),
                  isAscending ? dealInTurn(context) : dealBackAndForth(context),
                  walkedTile(problem, in), turnOfItem(problem, in)},
                 /*step=*/in.formula(in.position)};
  return orderWithin(header, std::move(wide), emitError);
}

namespace mlir::dash::kinds {
extern const ScheduleKind LongestFirst = {
    "longest-first",
    "q tiles first to last, items with the most of them first; for programs without dQ", build,
    /*purpose=*/nullptr,
    /*isSearched=*/false,
    /*isUnordered=*/false,
    /*summaryOfQ=*/
    "kv tiles first to last, items with the most of them first; no worker is left with a long one",
    /*isChosenWithChains=*/false,
    /*isByLength=*/true,
    /*isDealt=*/true};
} // namespace mlir::dash::kinds
