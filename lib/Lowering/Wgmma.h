//===- Wgmma.h - products of tiles on the tensor core ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_WGMMA_H
#define DASH_LIB_LOWERING_WGMMA_H

#include "PtxBuilder.h"

namespace mlir::dash {

/// A tile of 16-bit elements in shared memory, as the copy engine writes it: panels of 64 columns, one
/// behind the other, each of `rows` rows of 128 bytes, swizzled in groups of 8 rows.
struct SharedTile {
  Value address; ///< a multiple of 1024
  int64_t rows = 0, columns = 0;

  int64_t panelBytes() const { return rows * 128; }
  /// Where element (row, column) lies but for the swizzle; row a multiple of 8.
  int64_t offsetOf(int64_t row, int64_t column) const {
    return column / 64 * panelBytes() + row * 128 + column % 64 * 2;
  }
};

/// A factor in shared memory. The first index of A and the second of B are the `outer` one, the other is
/// summed over. `outerIsRow`: the tile's rows are the outer index (its transpose is "K-major" in PTX's
/// words); else its columns are ("MN-major").
struct SharedFactor {
  SharedTile tile;
  bool outerIsRow = true;
  int64_t firstOuter = 0; ///< where this warpgroup's part begins
};

/// One product of a warpgroup: 64 rows by `columns` columns, summed over `depth`.
struct Product {
  FloatType element; ///< of both factors
  int64_t columns = 0, depth = 0;
  std::optional<SharedFactor> sharedA; ///< else `registersA`: depth / 16 times four words
  SmallVector<Value> registersA;
  SharedFactor b;
};

/// Issues the product as one group. `accumulators`: columns / 2 floats a thread to add to, or none. Gives
/// those of the sum, which must not be used before `waitProducts`.
SmallVector<Value> issueProduct(PtxBuilder &b, const Product &product, ValueRange accumulators);

/// Waits until at most `pending` groups are not complete. `values` are what the complete ones give,
/// returned as they may be used from here on.
SmallVector<Value> waitProducts(PtxBuilder &b, int64_t pending, ValueRange values,
                                ValueRange registersA);

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_WGMMA_H
