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

/// A bundle has as many heads as have two items for each worker: all of them then share what few
/// heads walk, about 17 MB at head dim 128. Its items are its heads' longest tiles, then the next
/// ones. The last bundle may have fewer heads. Sequences with more tiles than that need none. Items
/// that own kv tiles, if they differ in length, go in more heads, which fill a run better.
static Piecewise longestItems(const Problem &problem, MLIRContext *context) {
  ItemInputs in(context);
  bool ownsQ = problem.ownsQ();
  AffineExpr tiles = ownsQ ? in.qTiles : in.kvTiles;
  AffineExpr perRound = in.workers * 2; // up the workers, and down again
  AffineExpr fewest = getAffineConstantExpr(ownsQ ? 1 : headsOfKv, context);
  AffineExpr heads = clampToZero(perRound.floorDiv(tiles) - fewest, perRound) + fewest;
  AffineExpr size = heads * tiles;
  AffineExpr bundle = in.i.floorDiv(size), place = in.i % size, first = bundle * heads;
  AffineExpr left = in.groups - first;
  Longest longest = findLongest(problem);
  // A bundle of items of many lengths begins with worker 0, so that long items meet short ones.
  AffineExpr unitsOfBundle = ownsQ ? perRound : size.ceilDiv(perRound) * perRound;
  AffineExpr unit = longest == Longest::None ? in.i : bundle * unitsOfBundle + place;
  auto item = [&](AffineExpr first, AffineExpr place, AffineExpr heads,
                  AffineExpr unit) -> SmallVector<AffineExpr> {
    AffineExpr rank = place.floorDiv(heads);
    return {first + place % heads, longest == Longest::Last ? tiles - 1 - rank : rank, unit};
  };
  SmallVector<AffineExpr> last = item(first, place, left, unit);
  if (!ownsQ)
    return select(left - heads, item(first, place, heads, unit),
                  in.formula(last[0], last[1], last[2]));
  AffineExpr zero = getAffineConstantExpr(0, context), isShort = perRound - in.qTiles;
  SmallVector<AffineExpr> all = item(zero, in.i, in.groups, in.i);
  return select({isShort, left - heads}, item(first, place, heads, unit),
                select(isShort, last, in.formula(all[0], all[1], all[2])));
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
  bool isAscending = !problem.ownsQ() && findLongest(problem) == Longest::None;
  WideOrder wide{maskOfFormulas(problem.mask),
                 {isAscending ? itemsInOrder(context) : longestItems(problem, context),
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
    /*isChosenWithChains=*/false};
} // namespace mlir::dash::kinds
