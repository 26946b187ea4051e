//===- MaskEmitter.h - what a mask says, as arithmetic of entries -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_MASKEMITTER_H
#define DASH_ENTRIES_MASKEMITTER_H

#include "dash/Hopper/PtxBuilder.h"
#include "dash/IR/Band.h"

namespace mlir::dash {

/// The active tiles of a line: `size` of them, from `first` on; of a q tile there may be a gap in front of those that `last` ends.
struct ActiveTiles {
  Value first, size;
  Value last = {}; ///< null where they stand side by side
};

/// Emits what a band says of tiles: the functions of dash/IR/Band.h, in the type of their inputs.
class MaskEmitter {
public:
  /// `offset`: kv rows minus q rows.
  MaskEmitter(PtxBuilder &b, TileBand band, Value offset) : b(b), band(band), offset(offset) {}

  /// Of a line with so many tiles; `first` means nothing where the size is 0.
  ActiveTiles activeQ(Value kv, Value qTiles) const;
  ActiveTiles activeKv(Value q, Value kvTiles) const;

  /// Row i of the q tile sees column j of the kv tile iff j - i is at most this; null where the band has
  /// no right side.
  Value lastVisible(Value q, Value kv) const;

private:
  ActiveTiles activeTiles(const Bounds<AffineExpr> &bounds, Value tile, Value numTiles) const;
  Value number(int64_t value) const;

  PtxBuilder &b;
  TileBand band;
  Value offset;
};

/// Emits what edges say of lines, in the same way.
class LineEmitter {
public:
  LineEmitter(PtxBuilder &b, const TileEdges &edges, Value offset)
      : b(b), edges(edges), offset(offset) {}

  ActiveTiles activeQ(Value kv, Value qTiles) const;
  ActiveTiles activeKv(Value q, Value kvTiles) const;

private:
  MaskEmitter of(const TileBand &band) const { return MaskEmitter(b, band, offset); }
  Value number(int64_t value) const;

  PtxBuilder &b;
  const TileEdges &edges;
  Value offset;
};

} // namespace mlir::dash

#endif // DASH_ENTRIES_MASKEMITTER_H
