//===- TileBackward.cpp - an attention backward as ops on tiles -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where items own kv tiles, S and dP are computed transposed, K Q^T and V dO^T: P and dS are then
// in registers in the layout that the next products need. Where they own q tiles, dQ needs dS as it
// is.
//
//===----------------------------------------------------------------------===//

#include "TileProblem.h"
#include "TileWidths.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dash;

/// Allocates f32 memory for each row of `like`: one number, or `columns` columns.
static Value allocateSums(ImplicitLocOpBuilder &b, Value like, ArrayRef<int64_t> columns) {
  auto type = cast<MemRefType>(like.getType());
  constexpr unsigned outer = 3; // batch, heads, rows
  SmallVector<Value> dynamicSizes;
  for (unsigned dim = 0; dim < outer; ++dim)
    if (type.isDynamicDim(dim))
      dynamicSizes.push_back(memref::DimOp::create(b, like, dim));
  auto shape = llvm::to_vector(type.getShape().take_front(outer));
  llvm::append_range(shape, columns);
  return memref::AllocOp::create(b, MemRefType::get(shape, b.getF32Type()), dynamicSizes);
}

namespace {

/// Builds the tiled form of one attention backward before it.
class Tiler {
public:
  Tiler(AttentionBwdOp op, const TileSizes &sizes, GradientSplit split)
      : op(op), b(op.getLoc(), op), tiling(op.getTilingAttr()), qRows(sizes.rows.q),
        kvRows(sizes.rows.kv), columns(sizes.columns), columnsV(sizes.columnsV), split(split) {}

  void run() {
    Value scale = scaleOf(b, op.getScale(), op.getHeadDim());
    Value delta = op.getDelta();
    if (readsTasks()) {
      buildQItems(scale, /*delta=*/Value());
      return op.erase();
    }
    if (!delta) {
      delta = allocateSums(b, op.getDOut(), /*columns=*/{});
      DeltaOp::create(b, op.getO(), op.getDOut(), delta);
    }
    if (op.getSink())
      SinkGradientOp::create(b, op.getSink(), op.getLse(), delta, op.getDsink(),
                             op.getSequencesAttr());
    if (op.getSoftcapAttr())
      cap = arith::ConstantOp::create(b, op.getSoftcapAttr());
    if (op.ownsQ())
      buildQItems(scale, delta);
    else if (!op.getDq())
      buildKvItems(scale, delta, /*dqSum=*/Value());
    else if (split == GradientSplit::DQ)
      buildDqApart(scale, delta);
    else
      buildAdded(scale, delta);
    if (!op.getDelta())
      memref::DeallocOp::create(b, delta);
    op.erase();
  }

private:
  /// Whether dS comes from another program.
  bool readsTasks() { return op.ownsQ() && op.getDs(); }

  RankedTensorType half(int64_t rows, int64_t columns) {
    return RankedTensorType::get({rows, columns}, op.getElementType());
  }
  RankedTensorType single(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getF32Type());
  }
  Value zeros(RankedTensorType type) {
    return arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  }

  /// Items that own kv tiles, and add their contributions to sums of dQ; with dV apart, behind such
  /// items for dV.
  void buildAdded(Value scale, Value delta) {
    if (split == GradientSplit::DV)
      buildDvItems(scale, delta);
    Value dqSum = allocateSums(b, op.getDq(), {columns});
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    linalg::FillOp::create(b, zero, dqSum);
    buildKvItems(scale, delta, dqSum);
    ConvertOp::create(b, dqSum, op.getDq(), scale);
    memref::DeallocOp::create(b, dqSum);
  }

  /// Items that own kv tiles for dK and dV, then items that own q tiles for dQ.
  void buildDqApart(Value scale, Value delta) {
    buildKvItems(scale, delta, /*dqSum=*/Value());
    tiling = {}; // kernels of dQ are of programs that have no other gradient
    buildQItems(scale, delta);
  }

  ItemsOp createItems(TensorSide own) {
    // A size that one operand's type states holds for all. Loops over the same values share an
    // order.
    if (!overQ) {
      SmallVector<Value> perQ = {op.getDOut(), op.getLse(), op.getO() ? op.getO() : op.getDelta()};
      SmallVector<Value> perKv = {op.getK(), op.getV()};
      if (op.getDq())
        perQ.push_back(op.getDq());
      if (op.getDk())
        perKv.append({op.getDk(), op.getDv()});
      overQ = withStatedSizes(b, op.getQ(), perQ, {0, 1, 2});
      overQ = withStatedSizes(b, overQ, perKv, {0});
      overK = withStatedSizes(b, op.getK(), perKv, {0, 1, 2});
    }
    auto items = ItemsOp::create(b, /*order=*/FlatSymbolRefAttr(), overQ, overK, op.getV(),
                                 TilesAttr::get(b.getContext(), qRows, kvRows), op.getMask(),
                                 op.getLevel(), op.getSequencesAttr(), own);
    items.setTilingAttr(tiling);
    return items;
  }

  /// dqSum is null where dQ is apart.
  void buildKvItems(Value scale, Value delta, Value dqSum) {
    bool hasDv = split != GradientSplit::DV;
    SmallVector<Value> zero = {zeros(single({kvRows, columns}))};
    if (hasDv)
      zero.push_back(columnsV == columns ? zero[0] : zeros(single({kvRows, columnsV})));
    ItemsOp items = createItems(TensorSide::KV);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&items.getBody().front());
    Value sequence = items.getSequence(), head = items.getHead(), tile = items.getTile();
    Value k = LoadOp::create(b, half(kvRows, columns), op.getK(), sequence, head, tile);
    Value v = LoadOp::create(b, half(kvRows, columnsV), op.getV(), sequence, head, tile);
    auto walk = WalkOp::create(b, /*hasTurn=*/false, zero);
    StoreOp::create(b, walk.getResult(0), op.getDk(), sequence, head, tile, scale);
    if (hasDv)
      StoreOp::create(b, walk.getResult(1), op.getDv(), sequence, head, tile, /*scale=*/Value());
    b.setInsertionPointToEnd(&walk.getBody().front());
    QTiles mine = loadQ(sequence, walk.getHead(), walk.getTile(), delta);
    ScoreTiles scores = buildScores({sequence, tile, walk.getTile()}, k, v, mine, scale,
                                    /*roundsP=*/hasDv);
    SmallVector<Value> sums(1);
    if (hasDv)
      sums.push_back(product("dv", scores.p, false, mine.dOut, false, {kvRows, columnsV},
                             walk.getCarried()[1]));
    sums[0] =
        product("dk", scores.ds, false, mine.q, false, {kvRows, columns}, walk.getCarried()[0]);
    if (op.getDs())
      StoreTaskOp::create(b, scores.ds, op.getDs(), sequence, walk.getHead(), walk.getTile(), head,
                          tile);
    if (dqSum) {
      Value dq = product("dq", scores.ds, true, k, false, {qRows, columns});
      ReduceOp::create(b, dq, dqSum, sequence, walk.getHead(), walk.getTile());
    }
    YieldOp::create(b, sums);
  }

  /// Items that own kv tiles, for dV alone: nothing is summed across them.
  void buildDvItems(Value scale, Value delta) {
    Value zero = zeros(single({kvRows, columnsV}));
    ItemsOp items = createItems(TensorSide::KV);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&items.getBody().front());
    Value sequence = items.getSequence(), head = items.getHead(), tile = items.getTile();
    Value k = LoadOp::create(b, half(kvRows, columns), op.getK(), sequence, head, tile);
    auto walk = WalkOp::create(b, /*hasTurn=*/false, ValueRange{zero});
    StoreOp::create(b, walk.getResult(0), op.getDv(), sequence, head, tile, /*scale=*/Value());
    b.setInsertionPointToEnd(&walk.getBody().front());
    QTiles mine = loadQ(sequence, walk.getHead(), walk.getTile(), /*delta=*/Value());
    Value s = buildS(k, mine, scale);
    Value p = buildP(s, {sequence, tile, walk.getTile()}, mine, scale);
    Value factor = RoundOp::create(b, half(kvRows, qRows), p);
    Value dv =
        product("dv", factor, false, mine.dOut, false, {kvRows, columnsV}, walk.getCarried()[0]);
    YieldOp::create(b, ValueRange{dv});
  }

  void buildQItems(Value scale, Value delta) {
    buildsQItems = true;
    Value dqZero = zeros(single({qRows, columns}));
    ItemsOp items = createItems(TensorSide::Q);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&items.getBody().front());
    Value sequence = items.getSequence(), head = items.getHead(), tile = items.getTile();
    QTiles mine = readsTasks() ? QTiles() : loadQ(sequence, head, tile, delta);
    auto walk = WalkOp::create(b, /*hasTurn=*/false, ValueRange{dqZero});
    StoreOp::create(b, walk.getResult(0), op.getDq(), sequence, head, tile, scale);
    b.setInsertionPointToEnd(&walk.getBody().front());
    auto load = [&](int64_t columns, Value source) -> Value {
      return LoadOp::create(b, half(kvRows, columns), source, sequence, walk.getHead(),
                            walk.getTile());
    };
    if (readsTasks()) {
      Value ds = LoadOp::create(b, half(kvRows, qRows), op.getDs(), sequence, head, tile,
                                ValueRange{walk.getHead(), walk.getTile()}, op.getMask());
      Value dq = product("dq", ds, true, load(columns, op.getK()), false, {qRows, columns},
                         walk.getCarried()[0]);
      YieldOp::create(b, ValueRange{dq});
      return;
    }
    Value k = load(columns, op.getK()), v = load(columnsV, op.getV());
    ScoreTiles scores = buildScores({sequence, walk.getTile(), tile}, k, v, mine, scale,
                                    /*roundsP=*/false);
    Value dq = product("dq", scores.ds, false, k, false, {qRows, columns}, walk.getCarried()[0]);
    YieldOp::create(b, ValueRange{dq});
  }

  /// What a task needs of a q tile; delta may be null.
  struct QTiles {
    Value q, dOut, lse, delta;
  };
  QTiles loadQ(Value sequence, Value head, Value tile, Value delta) {
    auto load = [&](Type type, Value source) -> Value {
      return LoadOp::create(b, type, source, sequence, head, tile);
    };
    Value q = load(half(qRows, columns), op.getQ());
    Value dOut = load(half(qRows, columnsV), op.getDOut());
    Value lse = load(single({qRows}), op.getLse());
    return {q, dOut, lse, delta ? load(single({qRows}), delta) : Value()};
  }

  /// Which task it is.
  struct Place {
    Value sequence, kvTile, qTile;
  };
  /// P, rounded, or null; and dS.
  struct ScoreTiles {
    Value p, ds;
  };
  Value buildS(Value k, const QTiles &mine, Value scale) {
    Value s = buildTaskProduct("s", k, mine.q);
    return cap ? SoftcapOp::create(b, s.getType(), s, op.getSoftcapAttr(), scale, IntegerAttr())
               : s;
  }
  Value buildP(Value s, Place at, const QTiles &mine, Value scale) {
    return ProbabilityOp::create(b, s.getType(), s, mine.lse, at.sequence, at.kvTile, at.qTile,
                                 cap ? cap : scale, IntegerAttr());
  }
  ScoreTiles buildScores(Place at, Value k, Value v, const QTiles &mine, Value scale,
                         bool roundsP) {
    Value s = buildS(k, mine, scale), p = buildP(s, at, mine, scale);
    IntegerAttr stage;
    Value factor;
    if (roundsP)
      factor = RoundOp::create(b, half(kvRows, qRows), p);
    Value dp = buildTaskProduct("dp", v, mine.dOut);
    Value damped = cap ? Value(DampOp::create(b, p.getType(), p, s, stage)) : p;
    auto rounded = cast<RankedTensorType>(dp.getType()).clone(op.getElementType());
    Value ds = ScoreGradientOp::create(b, rounded, damped, dp, mine.delta, buildsQItems, stage);
    return {factor, ds};
  }

  /// A tile of a task: rows of the tile that stays by rows of the tile that is walked.
  Value buildTaskProduct(StringRef name, Value ofKv, Value ofQ) {
    if (buildsQItems)
      return product(name, ofQ, false, ofKv, true, {qRows, kvRows});
    return product(name, ofKv, false, ofQ, true, {kvRows, qRows});
  }

  Value product(StringRef name, Value lhs, bool transposeLhs, Value rhs, bool transposeRhs,
                ArrayRef<int64_t> shape, Value accumulate = {}) {
    return MatmulOp::create(b, single(shape), lhs, rhs, accumulate, transposeLhs, transposeRhs,
                            /*async=*/false, tiling ? tiling.getSplit(name) : SplitAttr(),
                            /*stage=*/IntegerAttr());
  }

  AttentionBwdOp op;
  ImplicitLocOpBuilder b;
  TilingAttr tiling;                        ///< null where tiles are for no kernel
  int64_t qRows, kvRows, columns, columnsV; ///< of tiles; tensors may have fewer columns
  GradientSplit split;
  bool buildsQItems = false;
  Value cap;          ///< null if scores are not capped
  Value overQ, overK; ///< what items are over, once there are some
};

} // namespace

void dash::tileBackward(AttentionBwdOp op, const TileSizes &sizes, GradientSplit split) {
  Tiler(op, sizes, split).run();
}
