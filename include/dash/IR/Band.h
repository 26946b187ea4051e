//===- Band.h - a mask's band over elements and tiles -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every fact is one affine function, stated once here: on int64_t if the sizes are known, on
// AffineExpr to emit code. `offset` is the kv rows minus the q rows of a sequence. Rows, columns
// and tiles count from its start.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_IR_BAND_H
#define DASH_IR_BAND_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <cstdint>
#include <optional>

namespace mlir::dash {

/// The elements of a tile: its first row and column, its numbers of rows and columns, and the
/// offset of their sequence.
struct TileElements {
  int64_t row = 0, rows = 0, column = 0, columns = 0, offset = 0;
};

/// Row i sees column j iff -left <= j - (i + offset) <= right, where -1 means no bound. The last
/// row is aligned with the last column.
struct Band {
  int64_t left = -1, right = -1;

  bool isFull() const { return left < 0 && right < 0; }

  /// Row `row` sees column `column` iff none of these is negative.
  template <typename Number>
  SmallVector<Number, 2> slacks(Number row, Number column, Number offset) const {
    Number distance = column - row - offset;
    SmallVector<Number, 2> slacks;
    if (left >= 0)
      slacks.push_back(distance + left);
    if (right >= 0)
      slacks.push_back(distance * -1 + right);
    return slacks;
  }

  /// The same band for sequences of at most `rows` rows: bounds that reach past all of them become
  /// none.
  Band within(int64_t rows) const { return {left < rows ? left : -1, right < rows ? right : -1}; }

  bool sees(int64_t row, int64_t column, int64_t offset) const {
    return llvm::all_of(slacks(row, column, offset), [](int64_t slack) { return slack >= 0; });
  }

  /// Whether a row of the tile sees a column of it. Distances range from one corner's to the
  /// opposite corner's.
  bool meets(const TileElements &tile) const {
    int64_t least = tile.column - (tile.row + tile.rows - 1) - tile.offset;
    int64_t most = tile.column + tile.columns - 1 - tile.row - tile.offset;
    return tile.rows > 0 && tile.columns > 0 && (left < 0 || most >= -left) &&
           (right < 0 || least <= right);
  }

  /// The band of pairs that both bands contain.
  Band operator&(const Band &other) const {
    auto nearer = [](int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; };
    return {nearer(left, other.left), nearer(right, other.right)};
  }
  bool operator==(const Band &other) const { return left == other.left && right == other.right; }
};

/// The edges of a mask within tiles: those of a band, except for its first columns, which may have
/// a wider band.
struct Edges {
  Band band;
  int64_t firstColumns = 0; ///< number of columns with the band `wide`
  Band wide;

  bool sees(int64_t row, int64_t column, int64_t offset) const {
    return (column < firstColumns ? wide : band).sees(row, column, offset);
  }
};

/// A range of numbers; an empty side means no bound.
template <typename Number> struct Bounds {
  std::optional<Number> first, last;
};

/// A band over the tiles of a problem.
struct TileBand {
  Band band;
  int64_t qTile = 0, kvTile = 0; ///< rows of a tile

  /// The q tiles that have a row that sees a column of kv tile `kv`: the tiles of the sequence
  /// within these bounds.
  template <typename Number> Bounds<Number> activeQ(Number kv, Number offset) const {
    Bounds<Number> tiles;
    Number column = kv * kvTile - offset;
    if (band.right >= 0)
      tiles.first = floorDiv(column - band.right, qTile);
    if (band.left >= 0)
      tiles.last = floorDiv(column + (kvTile - 1 + band.left), qTile);
    return tiles;
  }

  /// The kv tiles that have a column that a row of q tile `q` sees: likewise.
  template <typename Number> Bounds<Number> activeKv(Number q, Number offset) const {
    Bounds<Number> tiles;
    Number row = q * qTile + offset;
    if (band.left >= 0)
      tiles.first = floorDiv(row - band.left, kvTile);
    if (band.right >= 0)
      tiles.last = floorDiv(row + (qTile - 1 + band.right), kvTile);
    return tiles;
  }

  /// Row i of q tile `q` sees column j of kv tile `kv` iff j - i is within these bounds.
  template <typename Number> Bounds<Number> visible(Number q, Number kv, Number offset) const {
    Bounds<Number> differences;
    Number lead = q * qTile + offset - kv * kvTile;
    if (band.left >= 0)
      differences.first = lead - band.left;
    if (band.right >= 0)
      differences.last = lead + band.right;
    return differences;
  }

  /// Whether such bounds hide some element of a tile. Then elements must be tested one by one.
  bool hides(const Bounds<int64_t> &visible) const {
    return visible.first.value_or(1 - qTile) > 1 - qTile ||
           visible.last.value_or(kvTile - 1) < kvTile - 1;
  }

private:
  static int64_t floorDiv(int64_t lhs, int64_t rhs) { return llvm::divideFloorSigned(lhs, rhs); }
  static AffineExpr floorDiv(AffineExpr lhs, int64_t rhs) { return lhs.floorDiv(rhs); }
};

/// Edges over tiles. The q tiles that see something of a kv tile are contiguous, as for a band:
/// rows that see a first column and rows that see another column of the tile meet. The kv tiles of
/// a q tile are those of two bands.
struct TileEdges {
  TileEdges() = default;
  TileEdges(const Edges &edges, int64_t qTile, int64_t kvTile)
      : rest{edges.band, qTile, kvTile}, wide{edges.wide, qTile, kvTile}, last(wide),
        firstColumns(edges.firstColumns), firstTiles(llvm::divideCeil(edges.firstColumns, kvTile)) {
    if (wide.band.left >= 0)
      last.band.left -=
          std::min(firstTiles * kvTile - firstColumns, wide.band.left - rest.band.left);
  }

  /// for all kv tiles after the first ones, and for all tiles if there are no first columns
  TileBand rest;
  TileBand wide; ///< for the first ones,
  TileBand last; ///< except the last of them, which may have other columns too
  int64_t firstColumns = 0, firstTiles = 0;
};

/// The edges as a kernel's consumer needs them: one number for each tile, its lead, and numbers
/// that all tiles share. Row i of a q tile sees column j of a kv tile iff `j - i <= lead` and, if
/// there is a width, `lead - width <= j - i`. Sequences have at most 2^28 rows.
struct LeadEdges {
  /// The lead of a band without edges, and the right edge of a band with a left edge only.
  static constexpr int64_t hidesNothing = int64_t(1) << 30, farOut = hidesNothing / 2;

  explicit LeadEdges(const Edges &edges) : band(standing(edges.band)), width(widthOf(band)) {
    if (band.isFull() || edges.firstColumns == 0)
      return;
    firstColumns = edges.firstColumns;
    Band wide = standing(edges.wide);
    isFirstFull = wide.isFull();
    wide.right = wide.right < 0 ? farOut : wide.right;
    further = wide.right - band.right;
    firstWidth = widthOf(wide);
  }

  Band band;                    ///< its right edge is the lead
  std::optional<int64_t> width; ///< from the left edge to the right; empty without a left edge
  /// number of a sequence's first columns, which have other edges:
  int64_t firstColumns = 0;
  int64_t further = 0;               ///< a lead larger by this,
  std::optional<int64_t> firstWidth; ///< and a width that is not smaller; empty for none
  bool isFirstFull = false;          ///< they hide no row

private:
  static Band standing(const Band &band) {
    Band near = band.within(farOut);
    return near.left >= 0 && near.right < 0 ? Band{near.left, farOut} : near;
  }
  static std::optional<int64_t> widthOf(const Band &band) {
    return band.left < 0 ? std::optional<int64_t>() : band.left + band.right;
  }
};

} // namespace mlir::dash

#endif // DASH_IR_BAND_H
