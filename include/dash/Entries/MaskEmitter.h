//===- MaskEmitter.h - masks as arithmetic of entries -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_MASKEMITTER_H
#define DASH_ENTRIES_MASKEMITTER_H

#include "dash/Hopper/PtxBuilder.h"
#include "dash/IR/Band.h"

namespace mlir::dash {

/// The active tiles of a line: `size` tiles from `first` on. On a q tile's line, a gap may precede
/// the last group, which ends with `last`.
struct ActiveTiles {
  Value first, size;
  Value last = {}; ///< null if there is no gap
};

/// Emits a band's functions over tiles (dash/IR/Band.h), in the type of their inputs.
class MaskEmitter {
public:
  /// `offset`: kv rows minus q rows.
  MaskEmitter(PtxBuilder &b, TileBand band, Value offset) : b(b), band(band), offset(offset) {}

  /// The active tiles of a line with this many tiles; `first` has no meaning if the size is 0.
  ActiveTiles activeQ(Value kv, Value qTiles) const;
  ActiveTiles activeKv(Value q, Value kvTiles) const;

  /// Row i of the q tile sees column j of the kv tile iff j - i is at most this. Null if the band
  /// has no right bound.
  Value lastVisible(Value q, Value kv) const;

private:
  ActiveTiles activeTiles(const Bounds<AffineExpr> &bounds, Value tile, Value numTiles) const;
  Value number(int64_t value) const;

  PtxBuilder &b;
  TileBand band;
  Value offset;
};

/// Emits the functions of edges over lines, in the same way.
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
