//===- MaskEmitter.cpp - masks as arithmetic of entries -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Entries/MaskEmitter.h"
#include "Order/FormulaEmitter.h"

using namespace mlir;
using namespace mlir::dash;

/// A constant with the offset's type.
static Value numberLike(PtxBuilder &b, Value offset, int64_t value) {
  return offset.getType().isInteger(64) ? b.i64(value) : b.i32(value);
}
Value MaskEmitter::number(int64_t value) const { return numberLike(b, offset, value); }
Value LineEmitter::number(int64_t value) const { return numberLike(b, offset, value); }

ActiveTiles MaskEmitter::activeTiles(const Bounds<AffineExpr> &bounds, Value tile,
                                     Value numTiles) const {
  Value first = number(0), end = numTiles;
  FormulaEmitter emitter(b, {offset, tile});
  if (bounds.first)
    first = b.max(emitter.emit(*bounds.first), first);
  if (bounds.last)
    end = b.min(b.add(emitter.emit(*bounds.last), 1), end);
  if (!bounds.first && !bounds.last)
    return {first, numTiles};
  return {first, b.max(b.sub(end, first), number(0))};
}

ActiveTiles MaskEmitter::activeQ(Value kv, Value qTiles) const {
  AffineExpr offset = getAffineSymbolExpr(0, b.getContext());
  return activeTiles(band.activeQ(getAffineSymbolExpr(1, b.getContext()), offset), kv, qTiles);
}

ActiveTiles MaskEmitter::activeKv(Value q, Value kvTiles) const {
  AffineExpr offset = getAffineSymbolExpr(0, b.getContext());
  return activeTiles(band.activeKv(getAffineSymbolExpr(1, b.getContext()), offset), q, kvTiles);
}

Value MaskEmitter::lastVisible(Value q, Value kv) const {
  AffineExpr places[3];
  for (auto [i, place] : llvm::enumerate(places))
    place = getAffineSymbolExpr(i, b.getContext());
  auto last = band.visible(places[1], places[2], places[0]).last;
  return last ? FormulaEmitter(b, {offset, q, kv}).emit(*last) : Value();
}

ActiveTiles LineEmitter::activeQ(Value kv, Value qTiles) const {
  ActiveTiles found = of(edges.rest).activeQ(kv, qTiles);
  if (edges.firstTiles == 0)
    return found;
  auto chooseUpTo = [&](int64_t lastTile, const TileBand &band) {
    Value isFirst = b.below(kv, number(lastTile + 1));
    ActiveTiles first = of(band).activeQ(kv, qTiles);
    found = {b.choose(isFirst, first.first, found.first), b.choose(isFirst, first.size, found.size),
             Value()};
  };
  chooseUpTo(edges.firstTiles - 1, edges.last);
  if (edges.firstTiles > 1 && !(edges.last.band == edges.wide.band))
    chooseUpTo(edges.firstTiles - 2, edges.wide);
  return found;
}

ActiveTiles LineEmitter::activeKv(Value q, Value kvTiles) const {
  ActiveTiles rest = of(edges.rest).activeKv(q, kvTiles);
  if (edges.firstTiles == 0)
    return rest;
  Value zero = number(0);
  ActiveTiles front = of(edges.wide).activeKv(q, b.min(kvTiles, number(edges.firstTiles)));
  Value hasFront = b.below(zero, front.size);
  if (int64_t left = edges.wide.band.left; left >= 0) {
    // The last tile of first columns has other columns too. A row that sees only those is none of
    // its rows.
    Value row = b.add(b.mul(q, edges.wide.qTile), offset);
    hasFront = b.both(hasFront, b.below(row, number(left + edges.firstColumns)));
  }
  Value frontSize = b.choose(hasFront, front.size, zero);
  Value frontEnd = b.choose(hasFront, b.add(front.first, front.size), zero);
  Value restEnd = b.choose(b.below(zero, rest.size), b.add(rest.first, rest.size), zero);
  Value restSize = b.max(b.sub(restEnd, b.max(rest.first, frontEnd)), zero);
  return {b.choose(hasFront, front.first, rest.first), b.add(frontSize, restSize),
          b.add(b.max(frontEnd, restEnd), -1)};
}
