//===- Tile.cpp - write attention as ops on tiles -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileProblem.h"
#include "TileWidths.h"
#include "dash/IR/TensorRoles.h"
#include "dash/Schedule/ForwardRows.h"
#include "dash/Schedule/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace mlir::dash {
#define GEN_PASS_DEF_TILE
#include "dash/Schedule/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

Value dash::scaleOf(ImplicitLocOpBuilder &b, Value given, int64_t headDim) {
  if (given)
    return given;
  return arith::ConstantOp::create(b, b.getF32FloatAttr(1.0 / std::sqrt(double(headDim))));
}

namespace {

struct Tile : public dash::impl::TileBase<Tile> {
  using TileBase::TileBase;

  void runOnOperation() override {
    SmallVector<AttentionOpInterface> ops;
    getOperation()->walk([&](AttentionOpInterface op) { ops.push_back(op); });
    if (ops.empty())
      getOperation()->emitWarning() << "no 'dash.attention_bwd' or 'dash.attention_fwd' to tile";
    else if (failed(verifyOptions(ops)))
      return signalPassFailure();
    for (AttentionOpInterface op : ops) {
      if (failed(tile(op)))
        return signalPassFailure();
      ++numTiled;
    }
  }

private:
  /// An option of forwards or of backwards needs one.
  LogicalResult verifyOptions(ArrayRef<AttentionOpInterface> ops) {
    auto isForward = [](AttentionOpInterface op) { return isa<AttentionFwdOp>(op); };
    AttentionOpInterface first = ops.front();
    if (split != GradientSplit::None && llvm::all_of(ops, isForward))
      return first->emitError() << "has no gradients to split, got 'split="
                                << (split == GradientSplit::DV ? "dv" : "dq") << "'";
    for (AttentionOpInterface op : ops)
      if (auto backward = dyn_cast<AttentionBwdOp>(op.getOperation());
          backward && split != GradientSplit::None && backward.isPart())
        return op->emitError() << "has a part of the gradients, which is one loop, got 'split="
                               << (split == GradientSplit::DV ? "dv" : "dq") << "'";
    if (slack != TileOptions().slack && llvm::none_of(ops, isForward))
      return first->emitError() << llvm::formatv("has no online softmax, got 'slack={0:f1}': it is "
                                                 "an option of 'dash.attention_fwd'",
                                                 double(slack));
    if (!(slack >= 0 && slack <= RunningMaxOp::mostSlack))
      return first->emitError() << llvm::formatv("expected a slack from 0 to {0:f0}, got {1:f1}",
                                                 RunningMaxOp::mostSlack, double(slack));
    return success();
  }

  /// Pieces of keys are whole tiles, so that the tiles of a row are those of its piece.
  static LogicalResult verifyCut(AttentionFwdOp op, int64_t kvTile) {
    int64_t cut = op.getCut().value_or(0);
    if (cut % kvTile == 0)
      return success();
    int64_t above = llvm::alignTo(cut, kvTile), below = above - kvTile;
    return op.emitError() << "cuts keys into pieces of " << cut
                          << " rows, expected a multiple of the kv tile, " << kvTile << ": take "
                          << (below > 0 ? std::to_string(below) + " or " : "") << above;
  }

  /// A q tile has whole rows of the sequence, each with all folded heads.
  static LogicalResult verifyFold(AttentionFwdOp op, int64_t qTile) {
    int64_t fold = op.getFold().value_or(1);
    if (qTile % fold == 0)
      return success();
    return op.emitError() << "folds " << fold << " heads into q tiles of " << qTile
                          << " rows, expected a multiple of the fold: take "
                          << llvm::alignTo(qTile, fold) << " rows";
  }

  LogicalResult tile(AttentionOpInterface op) {
    auto backward = dyn_cast<AttentionBwdOp>(op.getOperation());
    auto forward = dyn_cast<AttentionFwdOp>(op.getOperation());
    TileSizes sizes;
    SmallVector<int64_t> columns = llvm::to_vector(ArrayRef<int64_t>(widths));
    if (forward)
      sizes.rows = rowsOfForward(op.getHeadDim(), op.getHeadDimV());
    if (TilingAttr tiling = op.getTilingAttr()) {
      if (q || kv || !columns.empty())
        return op->emitError() << "has a tiling, which says its rows and columns: drop 'q', 'kv' "
                                  "and 'widths' of --dash-tile";
      sizes.rows = {tiling.getTiles().getQ(), tiling.getTiles().getKv()};
      columns = {tiling.getColumns(), tiling.getWidthV()};
    }
    if (q)
      sizes.rows.q = q;
    if (kv)
      sizes.rows.kv = kv;
    auto emitError = [&] { return op->emitError(); };
    auto widthOfTiles = [&](int64_t ofTensor) {
      TilingAttr tiling = op.getTilingAttr();
      if (!tiling)
        return widthOf(op, ofTensor, columns);
      bool isOfV = ofTensor == op.getHeadDimV() && ofTensor != op.getHeadDim();
      return isOfV ? tiling.getWidthV() : tiling.getColumns();
    };
    MaskAttr mask = op.getMask();
    if (failed(TilesAttr::verify(emitError, sizes.rows.q, sizes.rows.kv, /*fold=*/1)) ||
        failed(mask.verifyTiles(sizes.rows.q, sizes.rows.kv, emitError)) ||
        failed(verifyWidths(op, columns)))
      return failure();
    if (forward &&
        (failed(verifyCut(forward, sizes.rows.kv)) || failed(verifyFold(forward, sizes.rows.q))))
      return failure();
    if (failed(setRoles(op, widthOfTiles)))
      return failure();
    sizes.columns = widthOfTiles(op.getHeadDim());
    sizes.columnsV = widthOfTiles(op.getHeadDimV());
    if (backward)
      tileBackward(backward, sizes, split);
    else
      tileForward(forward, sizes, slack);
    return success();
  }
};

} // namespace
