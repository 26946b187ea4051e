//===- MaskEmitter.cpp - what a mask says, as arithmetic of entries -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MaskEmitter.h"
#include "FormulaEmitter.h"

using namespace mlir;
using namespace mlir::dash;

Value MaskEmitter::number(int64_t value) const {
  return offset.getType().isInteger(64) ? b.i64(value) : b.i32(value);
}

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
