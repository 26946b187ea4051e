//===- TileOrigins.cpp - the tiles of memory behind a tile ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileOrigins.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

static std::string toString(const MemoryTile &tile) {
  return llvm::formatv("sequence {0}, head {1}, tile {2}", tile.sequence, tile.head, tile.tile);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Rows and columns each have half a register.
static constexpr int64_t columnsFrom = int64_t(1) << 31;

int64_t TileOrigins::numberOf(const std::optional<MemoryTile> &tile) {
  if (!tile)
    return 0;
  auto [found, isNew] =
      numbers.try_emplace({tile->sequence, {tile->head, tile->tile}}, tiles.size() + 1);
  if (isNew)
    tiles.push_back(*tile);
  return found->second;
}

int64_t TileOrigins::add(const TileOrigin &origin) {
  return numberOf(origin.rows) + columnsFrom * numberOf(origin.columns);
}

TileOrigin TileOrigins::get(int64_t number) const {
  auto tileOf = [&](int64_t one) { return one > 0 ? std::optional(tiles[one - 1]) : std::nullopt; };
  return {tileOf(number % columnsFrom), tileOf(number / columnsFrom)};
}

//===----------------------------------------------------------------------===//
// Matching origins
//===----------------------------------------------------------------------===//

LogicalResult dash::meet(Operation *op, std::optional<MemoryTile> &mine,
                         const std::optional<MemoryTile> &other) {
  if (!mine || !other || *mine == *other) {
    mine = mine ? mine : other;
    return success();
  }
  return op->emitError() << "brings together what is of " << toString(*mine) << ", and what is of "
                         << toString(*other);
}

LogicalResult dash::meet(Operation *op, TileOrigin &mine, const TileOrigin &other) {
  return failure(failed(meet(op, mine.rows, other.rows)) ||
                 failed(meet(op, mine.columns, other.columns)));
}

LogicalResult dash::verifyRows(Operation *op, const TileOrigin &origin, const MemoryTile &target) {
  if (!origin.rows || *origin.rows == target)
    return success();
  return op->emitError() << "hands what is of " << toString(*origin.rows) << " to "
                         << toString(target);
}

LogicalResult dash::verifyTold(Operation *op, const TileOrigin &origin, int64_t kvTile,
                               std::optional<int64_t> sequence) {
  if (!origin.rows)
    return success();
  MemoryTile told = {sequence.value_or(origin.rows->sequence), origin.rows->head, kvTile};
  if (*origin.rows == told)
    return success();
  return op->emitError() << "is told " << toString(told) << ", and has rows of "
                         << toString(*origin.rows);
}

static FailureOr<TileOrigin> originOfProduct(MatmulOp op, ArrayRef<TileOrigin> operands) {
  TileOrigin a = operands[0].transposed(op.getTransposeA());
  TileOrigin b = operands[1].transposed(op.getTransposeB());
  TileOrigin result{a.rows, b.columns};
  if (failed(meet(op, a.columns, b.rows)) ||
      (op.getAccumulate() && failed(meet(op, result, operands[2]))))
    return failure();
  if (result.rows && result.columns && result.rows->sequence != result.columns->sequence)
    return op.emitError() << "multiplies rows of sequence " << result.rows->sequence
                          << " by rows of sequence " << result.columns->sequence;
  return result;
}

bool dash::isPerRow(Type tile) {
  auto type = dyn_cast<RankedTensorType>(tile);
  auto layout = type ? dyn_cast_or_null<FragmentAttr>(type.getEncoding()) : FragmentAttr();
  return layout && layout.getKind() == FragmentKind::PerRow;
}

FailureOr<TileOrigin> dash::originOf(Operation *op, ArrayRef<TileOrigin> operands) {
  if (auto product = dyn_cast<MatmulOp>(op))
    return originOfProduct(product, operands);
  TileOrigin result;
  for (auto [operand, origin] : llvm::zip_equal(op->getOperands(), operands)) {
    auto tile = dyn_cast<RankedTensorType>(operand.getType());
    if (!tile)
      continue;
    // Another row vector has one element for each column.
    bool isVector = tile.getRank() == 1;
    if (failed(isPerRow(tile) ? meet(op, result.rows, origin.rows)
               : isVector     ? meet(op, result.columns, origin.rows)
                              : meet(op, result, origin)))
      return failure();
  }
  if (auto piece = dyn_cast<PieceOp>(op); piece && result.rows) {
    int64_t pieces = piece.getTile().getType().getDimSize(0) / piece.getType().getDimSize(0);
    result.rows->tile = result.rows->tile * pieces + int64_t(piece.getPiece());
  }
  return result;
}
