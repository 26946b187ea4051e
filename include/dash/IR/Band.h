//===- Band.h - what a mask's band says of elements and tiles --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every fact is one affine function, stated here once: on int64_t for those who know the sizes, on
// AffineExpr for those who emit code that will. `offset` is the kv rows minus the q rows of a sequence;
// rows, columns and tiles count from its start.
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

/// Row i sees column j iff -left <= j - (i + offset) <= right, where -1 is no bound. The last row stands
/// at the last column.
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

  /// The same to sequences of at most so many rows: bounds that reach past all of them are none.
  Band within(int64_t rows) const { return {left < rows ? left : -1, right < rows ? right : -1}; }

  bool sees(int64_t row, int64_t column, int64_t offset) const {
    return llvm::all_of(slacks(row, column, offset), [](int64_t slack) { return slack >= 0; });
  }
};

/// A range of numbers, of which nothing means no bound.
template <typename Number> struct Bounds {
  std::optional<Number> first, last;
};

/// A band over the tiles of a problem.
struct TileBand {
  Band band;
  int64_t qTile = 0, kvTile = 0; ///< rows of a tile

  /// The q tiles of which a row sees a column of kv tile `kv`: the tiles of the sequence within bounds.
  template <typename Number> Bounds<Number> activeQ(Number kv, Number offset) const {
    Bounds<Number> tiles;
    Number column = kv * kvTile - offset;
    if (band.right >= 0)
      tiles.first = floorDiv(column - band.right, qTile);
    if (band.left >= 0)
      tiles.last = floorDiv(column + (kvTile - 1 + band.left), qTile);
    return tiles;
  }

  /// The kv tiles of which a column is seen from a row of q tile `q`: the same.
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

  /// Whether some element of a tile is hidden by such bounds: elements must then be asked one by one.
  bool hides(const Bounds<int64_t> &visible) const {
    return visible.first.value_or(1 - qTile) > 1 - qTile ||
           visible.last.value_or(kvTile - 1) < kvTile - 1;
  }

private:
  static int64_t floorDiv(int64_t lhs, int64_t rhs) { return llvm::divideFloorSigned(lhs, rhs); }
  static AffineExpr floorDiv(AffineExpr lhs, int64_t rhs) { return lhs.floorDiv(rhs); }
};

} // namespace mlir::dash

#endif // DASH_IR_BAND_H
