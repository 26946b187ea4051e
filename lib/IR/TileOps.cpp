//===- TileOps.cpp - checks of what a task computes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes follow from the tiles of the enclosing dash.items, so every message can name a number.
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "Checks.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult LoadOp::verify() {
  if (failed(verifyTileOf(*this, getType(), getSource().getType())))
    return failure();
  Type found = getType().getElementType(), expected = getSource().getType().getElementType();
  if (found != expected)
    return emitOpError() << "tile must have elements of the memref's type, " << expected << ", got "
                         << found;
  return success();
}

LogicalResult StoreOp::verify() {
  return verifyTileOf(*this, getValue().getType(), getTarget().getType());
}

//===----------------------------------------------------------------------===//
// MatmulOp
//===----------------------------------------------------------------------===//

ParseResult dash::parseProduct(OpAsmParser &parser, Type &a, Type &b, Type &result,
                               Type &accumulate, const MaybeOperand &accumulateOperand) {
  if (parser.parseLParen() || parser.parseType(a) || parser.parseComma() || parser.parseType(b) ||
      parser.parseRParen() || parser.parseArrow() || parser.parseType(result))
    return failure();
  if (accumulateOperand)
    accumulate = result;
  return success();
}

void dash::printProduct(OpAsmPrinter &printer, Operation *, Type a, Type b, Type result, Type,
                        Value) {
  printer << "(" << a << ", " << b << ") -> " << result;
}

LogicalResult MatmulOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  if (a.getElementType() != b.getElementType())
    return emitOpError() << "factors must have elements of one type, got " << a.getElementType()
                         << " and " << b.getElementType();
  // As multiplied, that is, after transposing.
  SmallVector<int64_t> aShape(a.getShape()), bShape(b.getShape());
  if (getTransposeA())
    std::swap(aShape[0], aShape[1]);
  if (getTransposeB())
    std::swap(bShape[0], bShape[1]);
  if (aShape[1] != bShape[0])
    return emitOpError() << "columns of a must be rows of b, got " << formatShape(aShape) << " and "
                         << formatShape(bShape) << " as multiplied";
  if (SmallVector<int64_t> product = {aShape[0], bShape[1]};
      ArrayRef<int64_t>(product) != getType().getShape())
    return emitOpError() << "result must be " << formatShape(product) << ", the product's shape, "
                         << "got " << formatShape(getType().getShape());
  if (getAccumulate() && getAccumulate().getType() != getType())
    return emitOpError() << "'accumulate' must have the type of the result, " << getType()
                         << ", got " << getAccumulate().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// ProbabilityOp, RoundOp, ScoreGradientOp
//===----------------------------------------------------------------------===//

/// A tile of one task, transposed: a row for each row of the kv tile, a column for each of the q
/// tile's.
static LogicalResult verifyTaskTile(Operation *op, StringRef name, RankedTensorType tile) {
  TilesAttr tiles = getItems(op).getTiles();
  if (SmallVector<int64_t> expected = {tiles.getKv(), tiles.getQ()};
      ArrayRef<int64_t>(expected) != tile.getShape())
    return op->emitOpError() << "'" << name << "' must be " << formatShape(expected)
                             << ", rows of a kv tile by rows of a q tile, got "
                             << formatShape(tile.getShape());
  return success();
}

/// One number for each row of the q tile.
static LogicalResult verifyRows(Operation *op, StringRef name, RankedTensorType rows) {
  int64_t expected = getItems(op).getTiles().getQ();
  if (rows.getDimSize(0) == expected)
    return success();
  return op->emitOpError() << "'" << name << "' must have " << expected
                           << " rows, those of a q tile, got " << rows.getDimSize(0);
}

LogicalResult ProbabilityOp::verify() {
  return failure(failed(verifyTaskTile(*this, "scores", getScores().getType())) ||
                 failed(verifyRows(*this, "lse", getLse().getType())) ||
                 failed(verifyTaskTile(*this, "result", getType())));
}

LogicalResult RoundOp::verify() {
  ArrayRef<int64_t> found = getType().getShape(), expected = getValue().getType().getShape();
  if (found == expected)
    return success();
  return emitOpError() << "result must be " << formatShape(expected)
                       << ", the shape of the value, got " << formatShape(found);
}

LogicalResult ScoreGradientOp::verify() {
  return failure(failed(verifyTaskTile(*this, "probability", getProbability().getType())) ||
                 failed(verifyTaskTile(*this, "gradient", getGradient().getType())) ||
                 failed(verifyRows(*this, "delta", getDelta().getType())) ||
                 failed(verifyTaskTile(*this, "result", getType())));
}
