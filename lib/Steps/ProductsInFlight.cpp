//===- ProductsInFlight.cpp - what the tensor core is doing ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductsInFlight.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dash;

void ProductsInFlight::issue(MatmulOp op) {
  op.setAsync(true);
  Product product{op, {}};
  for (const SlotAccess &access : op.getSlotAccesses())
    product.reads.push_back(*slotUseOf(access.slot));
  products.push_back(product);
}

void ProductsInFlight::waitForSumsOf(ImplicitLocOpBuilder &b, Operation *op) {
  if (isa<MatmulOp>(op))
    return;
  waitForOldest(b, countTo([&](Product &product) {
                  return llvm::is_contained(op->getOperands(), product.op.getResult());
                }));
}

void ProductsInFlight::waitForReaders(ImplicitLocOpBuilder &b, const SlotUse &slot) {
  waitForOldest(b,
                countTo([&](Product &product) { return llvm::is_contained(product.reads, slot); }));
}

bool ProductsInFlight::isReadByLast(const SlotUse &slot) const {
  return !products.empty() && llvm::is_contained(products.back().reads, slot);
}

size_t ProductsInFlight::countTo(function_ref<bool(Product &)> matches) {
  for (size_t count = products.size(); count > 0; --count)
    if (matches(products[count - 1]))
      return count;
  return 0;
}

/// Whether rows' maxima were found beside these products: that takes as long as a product.
bool ProductsInFlight::isBehindMaxima(OpBuilder &b) const {
  Operation *issued = products.back().op, *next = issued;
  while ((next = next->getNextNode()) && b.getInsertionPoint() != next->getIterator())
    if (isa<RunningMaxOp>(next))
      return true;
  return false;
}

void ProductsInFlight::waitForOldest(ImplicitLocOpBuilder &b, size_t number) {
  if (number == 0)
    return;
  SmallVector<Value> sums;
  llvm::SetVector<Value> factors;
  for (size_t i = 0; i < number; ++i) {
    Value sum = products[i].op.getResult(), factor = products[i].op.getA();
    if (!findNamed(factor))
      factors.insert(factor);
    auto addsToIt = [&](Product &later) { return later.op.getAccumulate() == sum; };
    if (llvm::none_of(MutableArrayRef(products).drop_front(i + 1), addsToIt))
      sums.push_back(sum); // otherwise its registers belong to a later product
  }
  auto wait = WgmmaWaitOp::create(b, TypeRange(ValueRange(sums)), sums, factors.getArrayRef(),
                                  products.size() - number, isBehindMaxima(b));
  for (auto [sum, complete] : llvm::zip_equal(sums, wait.getOutputs()))
    sum.replaceAllUsesExcept(complete, wait);
  products.erase(products.begin(), products.begin() + number);
}
