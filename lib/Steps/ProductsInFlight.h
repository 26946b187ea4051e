//===- ProductsInFlight.h - what the tensor core is doing -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_STEPS_PRODUCTSINFLIGHT_H
#define DASH_LIB_STEPS_PRODUCTSINFLIGHT_H

#include "dash/Steps/SlotUse.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {

/// The products that have been issued and not waited for, along straight-line code. `wgmma`
/// completes them in issue order, so a wait for one is a wait for all before it.
class ProductsInFlight {
public:
  void issue(MatmulOp op);
  /// Waits if the op uses sums in flight. Only the next product may add to sums in flight.
  void waitForSumsOf(ImplicitLocOpBuilder &b, Operation *op);
  void waitForReaders(ImplicitLocOpBuilder &b, const SlotUse &slot);
  /// Whether that leaves none in flight, while some are now.
  bool isReadByLast(const SlotUse &slot) const;
  void waitForAll(ImplicitLocOpBuilder &b) { waitForOldest(b, products.size()); }

private:
  struct Product {
    MatmulOp op;
    SmallVector<SlotUse> reads;
  };

  /// The number of oldest products to complete, so that all that satisfy `matches` are.
  size_t countTo(function_ref<bool(Product &)> matches);
  void waitForOldest(ImplicitLocOpBuilder &b, size_t number);
  bool isBehindMaxima(OpBuilder &b) const;

  SmallVector<Product> products; ///< oldest first
};

} // namespace mlir::dash

#endif // DASH_LIB_STEPS_PRODUCTSINFLIGHT_H
