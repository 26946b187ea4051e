//===- Layouts.cpp - layouts of tiles -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checks.h"
#include "dash/IR/DashAttrs.h"
#include "dash/IR/Panels.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// FragmentAttr
//===----------------------------------------------------------------------===//

LogicalResult FragmentAttr::verify(function_ref<InFlightDiagnostic()> emitError, FragmentKind kind,
                                   FragmentSplit split, int64_t warpgroups) {
  if (warpgroups < 1 || warpgroups > 8)
    return emitError() << "warpgroups must be from 1 to 8, got " << warpgroups;
  switch (kind) {
  case FragmentKind::Accumulator:
    if (split == FragmentSplit::Replicated)
      return emitError() << "an accumulator is split by rows or columns, got "
                         << stringifyEnum(split);
    return success();
  case FragmentKind::Operand:
    if (split != FragmentSplit::Rows)
      return emitError() << "an operand is split by rows, got " << stringifyEnum(split);
    return success();
  case FragmentKind::PerColumn:
    if (split != FragmentSplit::Replicated)
      return emitError() << "numbers per column are replicated in each warpgroup, got "
                         << stringifyEnum(split);
    return success();
  case FragmentKind::PerRow:
    if (split != FragmentSplit::Rows)
      return emitError() << "numbers per row are split by rows, got " << stringifyEnum(split);
    return success();
  }
  llvm_unreachable("all kinds are above");
}

LogicalResult FragmentAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                           function_ref<InFlightDiagnostic()> emitError) const {
  if (!elementType) // the parser has reported it
    return failure();
  bool isOperand = getKind() == FragmentKind::Operand;
  if (isOperand && !elementType.isF16() && !elementType.isBF16())
    return emitError() << "an operand holds 16-bit floats, got " << elementType;
  if (!isOperand && !elementType.isF32())
    return emitError() << "an accumulator holds f32, got " << elementType;
  if (getKind() == FragmentKind::PerColumn) {
    if (shape.size() == 1 && shape[0] % 16 == 0)
      return success();
    return emitError() << *this << " needs a multiple of 16 elements in one dimension, got "
                       << formatShape(shape);
  }
  int64_t rows = isSplitByRows() ? rowsOfWarpgroup * getWarpgroups() : rowsOfWarpgroup;
  if (getKind() == FragmentKind::PerRow) {
    if (!shape.empty() && shape[0] == rows &&
        (shape.size() == 1 || (shape.size() == 2 && shape[1] == threadsOfRow)))
      return success();
    return emitError() << *this << " needs " << rows << " rows, " << rowsOfWarpgroup
                       << " a warpgroup, and 1 or " << threadsOfRow << " columns, got "
                       << formatShape(shape);
  }
  if (isSplitByRows()) {
    if (shape.size() == 2 && shape[0] == rows && shape[1] % 8 == 0)
      return success();
    return emitError() << *this << " needs " << rows << " rows, " << rowsOfWarpgroup
                       << " a warpgroup, got " << formatShape(shape);
  }
  if (shape.size() == 2 && shape[0] == rows && shape[1] % (8 * getWarpgroups()) == 0)
    return success();
  return emitError() << *this << " needs " << rows << " rows and a multiple of "
                     << 8 * getWarpgroups() << " columns, got " << formatShape(shape);
}

int64_t FragmentAttr::getColumns(ArrayRef<int64_t> shape) const {
  return isSplitByColumns() ? shape.back() / getWarpgroups() : shape.back();
}

int64_t FragmentAttr::getNumRegisters(ArrayRef<int64_t> shape) const {
  // 64 rows by N columns are N / 2 numbers in each of 128 threads.
  int64_t numbers = getColumns(shape) / 2;
  switch (getKind()) {
  case FragmentKind::Accumulator:
    return numbers;
  case FragmentKind::Operand: // two in one register
    return numbers / 2;
  case FragmentKind::PerColumn: // two for each 8 columns
    return numbers / 2;
  case FragmentKind::PerRow:
    return registersPerRow;
  }
  llvm_unreachable("all kinds are above");
}

int64_t FragmentAttr::getFirstRow(int64_t warpgroup) const {
  return isSplitByRows() ? rowsOfWarpgroup * warpgroup : 0;
}

int64_t FragmentAttr::getFirstColumn(ArrayRef<int64_t> shape, int64_t warpgroup) const {
  return isSplitByColumns() ? getColumns(shape) * warpgroup : 0;
}

int64_t FragmentAttr::getMemoryOffset(ArrayRef<int64_t> shape, int64_t warpgroup) const {
  return warpgroup * rowsOfWarpgroup * getColumns(shape) * 4;
}

//===----------------------------------------------------------------------===//
// SwizzledAttr
//===----------------------------------------------------------------------===//

LogicalResult SwizzledAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t bytes) {
  if (bytes == 32 || bytes == 64 || bytes == mostBytes)
    return success();
  return emitError() << "rows of panels must be 32, 64 or " << mostBytes << " bytes, got " << bytes;
}

LogicalResult SwizzledAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                           function_ref<InFlightDiagnostic()> emitError) const {
  if (!elementType) // the parser has reported it
    return failure();
  bool isHalf = elementType.isF16() || elementType.isBF16();
  if (isHalf && shape.size() == 2 && shape[0] % rowsOfGroup == 0 &&
      shape[1] % getColumnsOfPanel() == 0)
    return success();
  return emitError() << *this
                     << " needs rows that are a multiple of 8 and columns that are a multiple of "
                     << getColumnsOfPanel() << ", of 16-bit floats, got " << formatShape(shape)
                     << " of " << elementType;
}

bool dash::canReadColumns(SwizzledAttr layout, int64_t columns, int64_t part) {
  int64_t ofPanel = layout.getColumnsOfPanel();
  return part == columns || part % ofPanel == 0 || ofPanel % part == 0;
}

SwizzledAttr dash::widestPanels(MLIRContext *context, int64_t columns, ArrayRef<int64_t> parts) {
  for (int64_t bytes : {SwizzledAttr::mostBytes, int64_t(64), int64_t(32)}) {
    auto layout = SwizzledAttr::get(context, bytes);
    if (columns % layout.getColumnsOfPanel() == 0 &&
        llvm::all_of(parts, [&](int64_t part) { return canReadColumns(layout, columns, part); }))
      return layout;
  }
  return nullptr;
}
