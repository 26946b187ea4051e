//===- Wgmma.cpp - products of tiles on the tensor core -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product is one inline assembly: its fence, its steps of 16 along the summed index, its commit.
// So nothing can move in between. Descriptors are computed from one register and immediates: as
// ordinary adds they would be hoisted out of loops and spill.
//
//===----------------------------------------------------------------------===//

#include "dash/Hopper/Wgmma.h"
#include "dash/Hopper/PtxAssembly.h"
#include "dash/Hopper/Swizzle.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

// Matrix descriptors (PTX ISA 9.7.15.5.1): address / 16 in bits 0-13, leading byte offset / 16 from
// bit 16, stride byte offset / 16 from bit 32, swizzle mode from bit 62. The stride leads from one
// group of rows to the next.
static uint32_t descriptorHigh(const SharedFactor &factor) {
  SwizzledAttr layout = factor.tile.layout;
  return layout.getBytesOfGroup() / 16 | matrixDescriptorMode(layout) << 30;
}

/// The difference between the low word of a factor's descriptor at step `k` and its tile's address
/// / 16.
static int64_t descriptorOffset(const SharedFactor &factor, int64_t k) {
  ArrayRef<int64_t> shape = factor.tile.shape;
  SwizzledAttr layout = factor.tile.layout;
  if (factor.outerIsRow) {
    constexpr int64_t unusedLeadingOffset = 1;
    return layout.getOffset(shape, factor.firstOuter, 16 * k) / 16 + (unusedLeadingOffset << 16);
  }
  // The leading offset goes from one panel of outer indices to the next.
  return layout.getOffset(shape, 16 * k, factor.firstOuter) / 16 +
         (layout.getPanelBytes(shape) / 16 << 16);
}

static Value descriptorBase(PtxBuilder &b, const SharedFactor &factor) {
  // In a cluster the high bits of an address name the block.
  return b.shiftRight(b.bitAnd(factor.tile.address, 0x3FFFF), 4);
}

SmallVector<Value> dash::issueProduct(PtxBuilder &b, const Product &product,
                                      ValueRange accumulators) {
  ptx::WgmmaGroup group;
  group.element = product.element;
  group.columns = product.columns;
  if (product.sharedA) {
    group.baseA = descriptorBase(b, *product.sharedA);
    group.highA = descriptorHigh(*product.sharedA);
    group.transposeA = !product.sharedA->outerIsRow;
  }
  group.baseB = descriptorBase(b, product.b);
  group.highB = descriptorHigh(product.b);
  group.transposeB = !product.b.outerIsRow;
  for (int64_t k : llvm::seq(product.depth / 16)) {
    ptx::WgmmaStep step;
    if (product.sharedA)
      step.offsetA = descriptorOffset(*product.sharedA, k);
    else
      step.registersA.assign(ArrayRef(product.registersA).slice(4 * k, 4));
    step.offsetB = descriptorOffset(product.b, k);
    group.steps.push_back(step);
  }
  return ptx::wgmmaMmaAsync(b, group, accumulators);
}

SmallVector<Value> dash::waitProducts(PtxBuilder &b, int64_t pending, ValueRange values,
                                      ValueRange registersA) {
  return ptx::wgmmaWaitGroup(b, pending, values, registersA);
}
