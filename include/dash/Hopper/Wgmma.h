//===- Wgmma.h - products of tiles on the tensor core ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_HOPPER_WGMMA_H
#define DASH_HOPPER_WGMMA_H

#include "dash/Hopper/PtxBuilder.h"
#include "dash/IR/DashAttrs.h"

namespace mlir::dash {

/// A tile of 16-bit elements in shared memory, in the layout of `#dash.swizzled`.
struct SharedTile {
  Value address;
  ArrayRef<int64_t> shape; ///< of a type
  SwizzledAttr layout;
};

/// A factor in shared memory. The first index of A and the second of B are the `outer` one; the sum
/// runs over the other. `outerIsRow`: the tile's rows are the outer index (PTX calls the tile
/// "K-major"); otherwise its columns are ("MN-major").
struct SharedFactor {
  SharedTile tile;
  bool outerIsRow = true;
  int64_t firstOuter =
      0; ///< start of this warpgroup's part; for columns, within one panel or at the start of one
};

/// One product of a warpgroup: 64 rows by `columns` columns, summed over `depth`.
struct Product {
  FloatType element; ///< of both factors
  int64_t columns = 0, depth = 0;
  std::optional<SharedFactor> sharedA; ///< otherwise `registersA`: depth / 16 times four words
  SmallVector<Value> registersA;
  SharedFactor b;
};

/// Issues the product as one group. `accumulators`: columns / 2 floats for each thread to add to,
/// or none. Returns those of the sum, which must not be used before `waitProducts`.
SmallVector<Value> issueProduct(PtxBuilder &b, const Product &product, ValueRange accumulators);

/// Waits until at most `pending` groups are incomplete. `values` are results of the complete ones;
/// the returned values may be used from here on.
SmallVector<Value> waitProducts(PtxBuilder &b, int64_t pending, ValueRange values,
                                ValueRange registersA);

} // namespace mlir::dash

#endif // DASH_HOPPER_WGMMA_H
