//===- ShortestFirst.cpp - chains that begin at the mask's edge -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order for items that a launch deals by their work, as it does for lists of sequences whose
// lengths only the device knows. Each item waits for items of its head that are issued earlier, and
// for no others. So any dealing is free of deadlock, as long as each worker keeps the issue order.
//
// Items of a head are issued with the shortest walk first. Under a causal mask that is the last kv
// tile. Every walk begins at the mask's edge, where no two kv tiles have the same q tile, and a
// chain holds the tiles as they come away from the edge. So items that begin together never meet,
// and an item that begins later finds its turns taken. Without a bound all walks are equally long
// and begin at the same q tile: each item follows the one before at the distance of a turn. Heads
// go in bundles, tile by tile, so few items of a head begin at once.
//
// Visits and turns know neither width nor workers, so the bits are the same at every level.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/OrderWithin.h"

using namespace mlir;
using namespace mlir::dash;

/// Sweeps over the workers that the items of a bundle of heads make. More of them would let even
/// fewer items of a head begin at once, but dQ of all heads of a bundle should stay in L2.
static constexpr int64_t sweepsOfBundle = 2;

/// The items of a bundle: a kv tile of each of its heads, then the next one of each. A unit each.
static Piecewise bundledItems(bool fromLast, MLIRContext *context) {
  ItemInputs in(context);
  AffineExpr most = in.workers * sweepsOfBundle;
  AffineExpr heads = clampToZero(most.floorDiv(in.kvTiles) - 1, most) + 1;
  AffineExpr bundle = in.i.floorDiv(heads * in.kvTiles);
  AffineExpr first = bundle * heads, place = in.i - first * in.kvTiles;
  // The last bundle may have fewer heads.
  AffineExpr size = heads - clampToZero(first + heads - in.groups, heads + in.groups);
  AffineExpr rank = place.floorDiv(size);
  return in.formula(first + place % size, fromLast ? in.kvTiles - 1 - rank : rank, in.i);
}

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context,
                              EmitError emitError) {
  LineInputs in(context);
  AffineExpr q = in.position, step = in.position;
  Mask band = header.problem.mask.band();
  // With a right bound the first q tile of each walk is at the edge, with a left one alone the
  // last.
  bool isRight = band.right >= 0, isLeft = !isRight && band.left >= 0;
  WideOrder wide{band,
                 {bundledItems(/*fromLast=*/isRight, context), dealInTurn(context),
                  in.formula(isLeft ? in.last - step : in.first + step),
                  in.formula(isRight ? in.last - in.kv : in.kv - in.first)},
                 /*step=*/in.formula(isLeft ? in.qTiles - 1 - q : q)};
  return orderWithin(header, std::move(wide), emitError);
}

static StringRef purpose(const Mask &mask) {
  if (mask.isFull())
    return "made for lists that a launch deals by work; on full masks each item follows the one "
           "before";
  return "made for lists that a launch deals by work: items that begin together never meet";
}

namespace mlir::dash::kinds {
extern const ScheduleKind ShortestFirst = {
    "shortest-first",
    "chains from the mask's edge, the shortest items first; for lists dealt by work",
    build,
    purpose,
    /*isSearched=*/false,
    /*isUnordered=*/false,
    /*summaryOfQ=*/{},
    /*isChosenWithChains=*/false,
    /*isByLength=*/false,
    /*isDealt=*/true};
} // namespace mlir::dash::kinds
