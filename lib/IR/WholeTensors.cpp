//===- WholeTensors.cpp - checks of attention's whole tensors -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that the forward and the backward have in common.
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "dash/Support/Limits.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult dash::verifyForm(Operation *op, NamedMemRef memref, unsigned rank) {
  static constexpr StringRef dimensions[] = {"heads", "batch, heads", "batch, heads, q rows",
                                             "batch, heads, rows, head dim"};
  if (memref.type.getRank() != rank)
    return op->emitOpError() << "'" << memref.name << "' must be a memref of rank " << rank << " ["
                             << dimensions[rank - 1] << "], got " << memref.type;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.type.getStridesAndOffset(strides, offset)))
    return op->emitOpError() << "'" << memref.name << "' must have a strided layout, got "
                             << memref.type;
  if (strides.back() == 1)
    return success();
  auto diagnostic = op->emitOpError()
                    << "'" << memref.name << "' must have an innermost stride of 1, got ";
  if (ShapedType::isDynamic(strides.back()))
    return diagnostic << "a dynamic one";
  return diagnostic << strides.back();
}

LogicalResult dash::verifyForms(Operation *op, ArrayRef<NamedMemRef> matrices,
                                ArrayRef<std::pair<NamedMemRef, unsigned>> numbers) {
  for (NamedMemRef memref : matrices)
    if (failed(verifyForm(op, memref, 4)))
      return failure();
  for (auto [memref, rank] : numbers)
    if (failed(verifyForm(op, memref, rank)))
      return failure();
  NamedMemRef first = matrices.front();
  std::string element;
  llvm::raw_string_ostream(element) << first.type.getElementType();
  if (!llvm::is_contained(matrixElements, element))
    return op->emitOpError() << "'" << first.name << "' must have "
                             << llvm::join(llvm::ArrayRef(matrixElements), " or ")
                             << " elements, got " << first.type.getElementType();
  for (NamedMemRef memref : matrices)
    if (failed(verifySameElements(op, memref, first)))
      return failure();
  for (auto [memref, rank] : numbers)
    if (!memref.type.getElementType().isF32())
      return op->emitOpError() << "'" << memref.name << "' must have f32 elements, got "
                               << memref.type.getElementType();
  return success();
}

LogicalResult dash::verifyHeadDims(AttentionOpInterface op) {
  constexpr int64_t step = 8, most = 256; // a row is whole chunks of 16 bytes
  for (auto [name, size] :
       {std::pair<StringRef, int64_t>("q", op.getHeadDim()), {"v", op.getHeadDimV()}}) {
    if (ShapedType::isDynamic(size))
      return op->emitOpError() << "'" << name << "' must have a static head dim";
    if (size < step || size > most || size % step != 0)
      return op->emitOpError() << "head dim of '" << name << "' must be a multiple of " << step
                               << " up to " << most << ", got " << size;
  }
  return success();
}

LogicalResult dash::verifyHeadsOf(Operation *op, NamedMemRef perHead, NamedMemRef other) {
  int64_t found = perHead.type.getDimSize(0), expected = other.type.getDimSize(Heads);
  if (found == expected || ShapedType::isDynamic(found) || ShapedType::isDynamic(expected))
    return success();
  return op->emitOpError() << "'" << perHead.name << "' must have the heads of '" << other.name
                           << "', " << expected << ", got " << found;
}

LogicalResult dash::verifyOutputs(Operation *op, ArrayRef<std::pair<StringRef, Value>> values,
                                  unsigned numInputs) {
  for (unsigned i = numInputs; i < values.size(); ++i)
    for (auto [name, value] : values.take_front(i))
      if (value == values[i].second)
        return op->emitOpError() << "output '" << values[i].first
                                 << "' must not be the same value as '" << name << "'";
  return success();
}
