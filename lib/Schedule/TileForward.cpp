//===- TileForward.cpp - an attention forward as ops on tiles -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An item owns a q tile and walks kv tiles upward, with an online softmax. Its state is a
// reference, four sums and the output's sums of each row.
//
//===----------------------------------------------------------------------===//

#include "TileProblem.h"
#include "TileWidths.h"
#include "dash/Schedule/ForwardRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dash;

TileShape dash::rowsOfForward(int64_t headDim, int64_t headDimV) {
  // What registers and shared memory of a kernel hold beside two slots of K and of V. At 96 columns
  // three warpgroups have registers for 96 rows; they are faster than two with 128.
  auto fits = [&](int64_t dim, int64_t dimV) { return headDim <= dim && headDimV <= dimV; };
  int64_t kv = fits(64, 64)     ? 128
               : fits(96, 96)   ? 96
               : fits(128, 128) ? 128
               : fits(192, 128) ? 112
               : fits(192, 192) ? 96
                                : 64;
  return {/*q=*/128, kv};
}

namespace {

class Tiler {
public:
  Tiler(AttentionFwdOp op, const TileSizes &sizes, double slack)
      : op(op), b(op.getLoc(), op), tiling(op.getTilingAttr()), sizes(sizes),
        slack(b.getF32FloatAttr(slack)) {}

  void run() {
    Value scale = scaleOf(b, op.getScale(), op.getHeadDim());
    Value cap;
    if (op.getSoftcapAttr())
      cap = arith::ConstantOp::create(b, op.getSoftcapAttr());
    Value zero = constant({sizes.rows.q, sizes.columnsV}, 0);
    Value lowest, none;
    bool hasSinkState = op.getSink() && !op.getCut(); // else a sink is put to the pieces
    if (!hasSinkState) {
      lowest = constant({sizes.rows.q}, -std::numeric_limits<float>::infinity());
      none = constant({sizes.rows.q, RunningSumOp::numSums}, 0);
    }
    Pieces pieces;
    if (op.getCut())
      pieces = allocatePieces();
    ItemsOp items = createItems();
    if (op.getCut())
      combine(pieces);
    b.setInsertionPointToEnd(&items.getBody().front());
    Value sequence = items.getSequence(), head = items.getHead(), tile = items.getTile();
    Value q = LoadOp::create(b, half(sizes.rows.q, sizes.columns), op.getQ(), sequence, head, tile);
    if (hasSinkState) {
      auto state =
          SinkStateOp::create(b, single({sizes.rows.q}),
                              single({sizes.rows.q, RunningSumOp::numSums}), op.getSink(), head);
      lowest = state.getMax(), none = state.getSum();
    }
    auto walk = WalkOp::create(b, /*hasTurn=*/false, ValueRange{zero, lowest, none});
    Value output = walk.getResult(0), max = walk.getResult(1), sum = walk.getResult(2);
    auto finish = FinishOp::create(b, output.getType(), max.getType(), output, max, sum);
    if (op.getUnrounded())
      StoreRowOp::create(b, finish.getOutput(), op.getUnrounded(), sequence, head, tile);
    if (op.getCut())
      StoreRowOp::create(b, finish.getOutput(), pieces.o, sequence, items.getPieceHead(), tile);
    else
      StoreOp::create(b, finish.getOutput(), op.getO(), sequence, head, tile, /*scale=*/Value());
    StoreRowOp::create(b, finish.getLse(), op.getCut() ? pieces.lse : op.getLse(), sequence,
                       items.getWrittenHead(), tile);
    b.setInsertionPointToEnd(&walk.getBody().front());
    buildTask(items, walk, q, scale, cap);
    op.erase();
  }

private:
  RankedTensorType half(int64_t rows, int64_t columns) {
    return RankedTensorType::get({rows, columns}, op.getElementType());
  }
  RankedTensorType single(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getF32Type());
  }
  Value constant(ArrayRef<int64_t> shape, float number) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(single(shape), number));
  }

  /// Memory for what pieces of the keys make of each row.
  struct Pieces {
    Value o, lse;
  };
  Pieces allocatePieces() {
    auto lse = op.typeOf(op.getLse()), k = op.typeOf(op.getK());
    int64_t rows = k.getDimSize(2), heads = lse.getDimSize(1), cut = *op.getCut();
    bool isKnown = !ShapedType::isDynamic(rows) && !ShapedType::isDynamic(heads);
    SmallVector<int64_t> shape(lse.getShape());
    shape[1] = isKnown ? heads * llvm::divideCeil(rows, cut) : ShapedType::kDynamic;
    SmallVector<Value> dynamic;
    for (int64_t dim : {0, 1, 2}) {
      if (!ShapedType::isDynamic(shape[dim]))
        continue;
      Value size = memref::DimOp::create(b, op.getLse(), dim);
      if (dim == 1) {
        Value rowsOfPiece = arith::ConstantIndexOp::create(b, cut);
        Value keys = memref::DimOp::create(b, op.getK(), 2);
        size = arith::MulIOp::create(b, size, arith::CeilDivUIOp::create(b, keys, rowsOfPiece));
      }
      dynamic.push_back(size);
    }
    Pieces pieces;
    pieces.lse = memref::AllocOp::create(b, MemRefType::get(shape, b.getF32Type()), dynamic);
    shape.push_back(sizes.columnsV);
    pieces.o = memref::AllocOp::create(b, MemRefType::get(shape, b.getF32Type()), dynamic);
    // A sequence of a list may have fewer pieces than there is room for.
    Value hidden =
        arith::ConstantOp::create(b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    linalg::FillOp::create(b, hidden, pieces.lse);
    return pieces;
  }
  void combine(const Pieces &pieces) {
    CombineOp::create(b, pieces.o, pieces.lse, op.getSink(), op.getO(), op.getLse(),
                      op.getCutAttr());
    memref::DeallocOp::create(b, pieces.o);
    memref::DeallocOp::create(b, pieces.lse);
  }

  /// A size that one operand's type states holds for all.
  ItemsOp createItems() {
    Value overQ = withStatedSizes(b, op.getQ(), {op.getO(), op.getLse()}, {0, 1, 2});
    overQ = withStatedSizes(b, overQ, {op.getK(), op.getV()}, {0});
    Value overK = withStatedSizes(b, op.getK(), {op.getV()}, {0, 1, 2});
    int64_t fold = op.getFold().value_or(1);
    auto items = ItemsOp::create(
        b, /*order=*/FlatSymbolRefAttr(), overQ, overK, op.getV(),
        TilesAttr::get(b.getContext(), sizes.rows.q / fold, sizes.rows.kv, fold), op.getMask(),
        op.getLevel(), op.getSequencesAttr(), TensorSide::Q, op.getCutAttr());
    items.setTilingAttr(tiling);
    return items;
  }

  void buildTask(ItemsOp items, WalkOp walk, Value q, Value scale, Value cap) {
    int64_t qRows = sizes.rows.q, kvRows = sizes.rows.kv;
    Value sequence = items.getSequence();
    Value output = walk.getCarried()[0], max = walk.getCarried()[1], sum = walk.getCarried()[2];
    auto load = [&](int64_t columns, Value source) -> Value {
      return LoadOp::create(b, half(kvRows, columns), source, sequence, walk.getHead(),
                            walk.getTile());
    };
    Value k = load(sizes.columns, op.getK()), v = load(sizes.columnsV, op.getV());
    Value s = product("s", q, k, /*transposeRhs=*/true, {qRows, kvRows}, Value());
    Value factor = scale;
    if (cap) {
      s = SoftcapOp::create(b, s.getType(), s, op.getSoftcapAttr(), scale, IntegerAttr());
      factor = cap;
    }
    Value y = VisibleOp::create(b, s.getType(), s, sequence, walk.getTile(), items.getTile());
    IntegerAttr stage;
    auto reference =
        RunningMaxOp::create(b, max.getType(), max.getType(), y, max, factor, slack, stage);
    Value p = ExponentialOp::create(b, y.getType(), y, reference.getNext(), factor, stage);
    Value nextSum = RunningSumOp::create(b, sum.getType(), p, sum, reference.getFactor(), stage);
    Value rounded = RoundOp::create(b, half(qRows, kvRows), p);
    Value scaled = RescaleOp::create(b, output.getType(), output, reference.getFactor(), stage);
    Value nextOutput =
        product("o", rounded, v, /*transposeRhs=*/false, {qRows, sizes.columnsV}, scaled);
    YieldOp::create(b, ValueRange{nextOutput, reference.getNext(), nextSum});
  }

  Value product(StringRef name, Value lhs, Value rhs, bool transposeRhs, ArrayRef<int64_t> shape,
                Value accumulate) {
    return MatmulOp::create(b, single(shape), lhs, rhs, accumulate, /*transpose_a=*/false,
                            transposeRhs, /*async=*/false,
                            tiling ? tiling.getSplit(name) : SplitAttr(), /*stage=*/IntegerAttr());
  }

  AttentionFwdOp op;
  ImplicitLocOpBuilder b;
  TilingAttr tiling; ///< null where tiles are for no kernel
  const TileSizes &sizes;
  FloatAttr slack;
};

} // namespace

void dash::tileForward(AttentionFwdOp op, const TileSizes &sizes, double slack) {
  Tiler(op, sizes, slack).run();
}
