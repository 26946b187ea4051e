//===- TileWidths.cpp - columns of tiles ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileWidths.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dash;

int64_t dash::widthOf(AttentionOpInterface op, int64_t columns, ArrayRef<int64_t> widths) {
  if (widths.empty())
    return columns;
  int64_t least = *llvm::max_element(widths);
  for (int64_t width : widths)
    if (width >= std::max(op.getHeadDim(), op.getHeadDimV()))
      least = std::min(least, width);
  return least;
}

LogicalResult dash::verifyWidths(AttentionOpInterface op, ArrayRef<int64_t> widths) {
  constexpr int64_t step = 8; // step of head dims
  for (int64_t width : widths)
    if (width < step || width % step != 0)
      return op->emitError() << "'widths' must be multiples of " << step << ", got " << width;
  for (int64_t headDim : {op.getHeadDim(), op.getHeadDimV()})
    if (!widths.empty() && *llvm::max_element(widths) < headDim)
      return op->emitError() << "has head dim " << headDim
                             << ", for which none of 'widths' has room: "
                             << "the largest is " << *llvm::max_element(widths);
  return success();
}

Value dash::withStatedSizes(ImplicitLocOpBuilder &b, Value value, ArrayRef<Value> others,
                            ArrayRef<unsigned> dims) {
  auto type = cast<MemRefType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (unsigned dim : dims)
    for (Value other : others)
      if (auto otherType = cast<MemRefType>(other.getType());
          ShapedType::isDynamic(shape[dim]) && !otherType.isDynamicDim(dim))
        shape[dim] = otherType.getDimSize(dim);
  if (ArrayRef(shape) == type.getShape())
    return value;
  MemRefType stated = MemRefType::Builder(type).setShape(shape);
  return memref::CastOp::create(b, stated, value);
}
