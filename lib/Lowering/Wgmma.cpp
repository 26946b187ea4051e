//===- Wgmma.cpp - products of tiles on the tensor core -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product is one inline assembly: its fence, its steps of 16 along the summed index, its commit. So
// nothing moves in between, and descriptors are computed from one register and immediates (as ordinary
// adds they would be hoisted out of loops and spill).
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dash;

// Matrix descriptors (PTX ISA 9.7.15.5.1): address / 16 in bits 0-13, leading byte offset / 16 from bit 16,
// stride byte offset / 16 from bit 32, swizzle mode from bit 62. Groups of 8 rows are 1024 bytes apart.
static constexpr uint32_t descriptorHigh = 1024 / 16 | 1u << 30;

/// What the low word of a factor's descriptor is more than address / 16 of its tile, at step `k`.
static int64_t descriptorOffset(const SharedFactor &factor, int64_t k) {
  const SharedTile &tile = factor.tile;
  if (factor.outerIsRow) {
    constexpr int64_t unusedLeadingOffset = 1;
    return tile.offsetOf(factor.firstOuter, 16 * k) / 16 + (unusedLeadingOffset << 16);
  }
  // The leading offset leads from one panel of 64 outer indices to the next.
  return tile.offsetOf(16 * k, factor.firstOuter) / 16 + (tile.panelBytes() / 16 << 16);
}

static Value descriptorBase(PtxBuilder &b, const SharedFactor &factor) {
  // In a cluster the high bits of an address name the block.
  return b.shiftRight(b.bitAnd(factor.tile.address, 0x3FFFF), 4);
}

SmallVector<Value> dash::issueProduct(PtxBuilder &b, const Product &product,
                                      ValueRange accumulators) {
  int64_t numSums = product.columns / 2, numSteps = product.depth / 16;
  assert((accumulators.empty() || int64_t(accumulators.size()) == numSums) &&
         "a thread holds columns / 2 of 64 rows");
  SmallVector<Value> operands(accumulators);
  std::string constraints;
  for (int64_t i : llvm::seq(numSums))
    constraints += i ? ",=f" : "=f";
  for (size_t i = 0; i < accumulators.size(); ++i)
    constraints += "," + std::to_string(i);
  auto addOperand = [&](Value value) {
    operands.push_back(value);
    constraints += ",r";
    return "$" + std::to_string(numSums + operands.size() - 1);
  };

  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\n.reg .b32 low;\n.reg .b64 da, db;\n.reg .pred adds;\n";
  if (accumulators.empty())
    os << ".reg .pred starts;\nsetp.ne.b32 starts, 0, 0;\n";
  os << "setp.ne.b32 adds, 1, 0;\nwgmma.fence.sync.aligned;\n";
  std::string baseA = product.sharedA ? addOperand(descriptorBase(b, *product.sharedA)) : "";
  std::string baseB = addOperand(descriptorBase(b, product.b));
  SmallVector<std::string> registersA;
  for (Value word : product.registersA)
    registersA.push_back(addOperand(word));

  auto emitDescriptor = [&](StringRef name, StringRef base, const SharedFactor &factor, int64_t k) {
    os << "add.u32 low, " << base << ", " << descriptorOffset(factor, k) << ";\nmov.b64 " << name
       << ", {low, " << descriptorHigh << "};\n";
  };
  for (int64_t k : llvm::seq(numSteps)) {
    if (product.sharedA)
      emitDescriptor("da", baseA, *product.sharedA, k);
    emitDescriptor("db", baseB, product.b, k);
    os << "wgmma.mma_async.sync.aligned.m64n" << product.columns << "k16.f32.bf16.bf16 {";
    for (int64_t i : llvm::seq(numSums))
      os << (i ? ", $" : "$") << i;
    os << "}, ";
    if (product.sharedA)
      os << "da";
    else
      os << "{" << llvm::join(ArrayRef(registersA).slice(4 * k, 4), ", ") << "}";
    os << ", db, " << (accumulators.empty() && k == 0 ? "starts" : "adds") << ", 1, 1, ";
    if (product.sharedA)
      os << (product.sharedA->outerIsRow ? "0, " : "1, ");
    os << (product.b.outerIsRow ? "0" : "1") << ";\n";
  }
  os << "wgmma.commit_group.sync.aligned;\n}";
  return b.ptx(SmallVector<Type>(numSums, b.getF32Type()), text, constraints, operands);
}

SmallVector<Value> dash::waitProducts(PtxBuilder &b, int64_t pending, ValueRange values) {
  return b.pinned("wgmma.wait_group.sync.aligned " + Twine(pending) + ";", values);
}
