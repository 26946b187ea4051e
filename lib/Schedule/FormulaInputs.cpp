//===- FormulaInputs.cpp - the inputs of a kind's formulas ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/FormulaInputs.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

ItemInputs::ItemInputs(MLIRContext *context) {
  const FormulaSignature &item = getFormulaSignature("item");
  i = item.getSymbol("i", context);
  qTiles = item.getSymbol("q_tiles", context);
  kvTiles = item.getSymbol("kv_tiles", context);
  groups = item.getSymbol("groups", context);
  width = item.getSymbol("width", context);
  workers = item.getSymbol("workers", context);
}

Piecewise ItemInputs::formula(AffineExpr group, AffineExpr kv, AffineExpr unit) const {
  return always({group, kv, unit}, getFormulaSignature("item").getNumSymbols());
}

Piecewise ItemInputs::waveFormula(AffineExpr group, AffineExpr kv, AffineExpr unit,
                                  AffineExpr units) const {
  Waves waves(unit, units, width);
  AffineExpr lanes = workers.floorDiv(waves.largest);
  AffineExpr round = group.floorDiv(lanes) * waves.count + waves.wave;
  AffineExpr worker = (group % lanes) * waves.largest + waves.place;
  return select({waves.count - 2, lanes - 2}, {group, kv, round * workers + worker},
                formula(group, kv, group * units + unit));
}

LineInputs::LineInputs(MLIRContext *context) {
  // `turn` has the same inputs at the same positions, with the q tile at the position of the step.
  const FormulaSignature &visit = getFormulaSignature("visit");
  own = kv = visit.getSymbol("kv", context);
  position = visit.getSymbol("step", context);
  qTiles = visit.getSymbol("q_tiles", context);
  kvTiles = visit.getSymbol("kv_tiles", context);
  width = visit.getSymbol("width", context);
  first = visit.getSymbol("first", context);
  last = visit.getSymbol("last", context);
  offset = visit.getSymbol("offset", context);
}

Piecewise LineInputs::formula(AffineExpr value) const {
  return always(value, getFormulaSignature("visit").getNumSymbols());
}

Piecewise dash::itemsInOrder(MLIRContext *context) {
  ItemInputs in(context);
  return in.formula(in.i.floorDiv(in.kvTiles), in.i % in.kvTiles, in.i);
}

Piecewise dash::itemsOfQInOrder(MLIRContext *context) {
  ItemInputs in(context);
  return in.formula(in.i.floorDiv(in.qTiles), in.i % in.qTiles, in.i);
}

namespace {
/// Inputs of the formula `worker`.
struct WorkerInputs {
  explicit WorkerInputs(MLIRContext *context)
      : signature(getFormulaSignature("worker")), unit(signature.getSymbol("unit", context)),
        workers(signature.getSymbol("workers", context)) {}
  Piecewise formula(AffineExpr worker) const { return always(worker, signature.getNumSymbols()); }

  const FormulaSignature &signature;
  AffineExpr unit, workers;
};
} // namespace

Piecewise dash::dealInTurn(MLIRContext *context) {
  WorkerInputs in(context);
  return in.formula(in.unit % in.workers);
}

Piecewise dash::dealBackAndForth(MLIRContext *context) {
  WorkerInputs in(context);
  AffineExpr place = in.unit % (in.workers * 2);
  return select(in.workers - 1 - place, place, in.formula(in.workers * 2 - 1 - place));
}

Mask dash::maskOfFormulas(const Mask &mask) {
  return mask.rules.size() == 1 && mask.unionRule() ? mask : mask.band();
}

namespace {
/// A gap in the kv tiles that a q tile sees: there may be one between the tiles of first columns
/// and those of the window.
struct LineGap {
  AffineExpr begin, size;
  int64_t firstTiles; ///< of first columns
};
} // namespace

/// None where the mask leaves none.
static std::optional<LineGap> gapOfLine(const Problem &problem, const LineInputs &in,
                                        AffineExpr qTile) {
  TileEdges edges(maskOfFormulas(problem.mask).edges(), problem.tiles.q, problem.tiles.kv);
  std::optional<AffineExpr> begin = edges.rest.activeKv(qTile, in.offset).first;
  if (edges.firstTiles == 0 || !begin)
    return std::nullopt;
  int64_t left = edges.rest.band.left;
  AffineExpr rows = in.qTiles * problem.tiles.q + in.kvTiles * problem.tiles.kv + left;
  AffineExpr frontEnd =
      clampToZero(in.first - edges.firstTiles, in.kvTiles + edges.firstTiles) + edges.firstTiles;
  AffineExpr gap = clampToZero(*begin - frontEnd, rows + in.kvTiles + edges.firstTiles);
  return LineGap{frontEnd, gap, edges.firstTiles};
}

Piecewise dash::turnByTile(const Problem &problem, const LineInputs &in) {
  AffineExpr rank = in.kv - in.first;
  std::optional<LineGap> gap = gapOfLine(problem, in, /*qTile=*/in.position);
  if (!gap)
    return in.formula(rank);
  // A chain does not have the gap.
  return select(in.kv - gap->firstTiles, rank - gap->size, in.formula(rank));
}

Piecewise dash::tileAtStep(const Problem &problem, const LineInputs &in) {
  AffineExpr tile = in.first + in.position;
  std::optional<LineGap> gap = gapOfLine(problem, in, /*qTile=*/in.own);
  if (!gap)
    return in.formula(tile);
  return select(tile - gap->begin, tile + gap->size, in.formula(tile));
}

Waves::Waves(AffineExpr unit, AffineExpr units, AffineExpr width) {
  // Wave j holds the units from j * units / count on. So unit u is in the last j with j * units <
  // (u + 1) * count.
  count = units.ceilDiv(width);
  wave = ((unit + 1) * count - 1).floorDiv(units);
  begin = (wave * units).floorDiv(count);
  end = ((wave + 1) * units).floorDiv(count);
  size = end - begin;
  place = unit - begin;
  largest = units.ceilDiv(count);
}

LogicalResult dash::verifyWavesFit(const ScheduleHeader &header, int64_t tilesPerUnit,
                                   EmitError emitError) {
  for (int64_t s : llvm::seq(header.problem.numSequences())) {
    int64_t units = llvm::divideCeil(header.problem.numKvTiles(s), tilesPerUnit);
    int64_t largest = llvm::divideCeil(units, llvm::divideCeil(units, header.width));
    if (largest <= header.workers)
      continue;
    InFlightDiagnostic error = emitError()
                               << "schedule '" << header.kind << "' made for " << header.width
                               << " workers has waves of " << largest << " that walk at once, got "
                               << header.workers << " workers";
    error.attachNote() << "lower for-workers (which changes the bits), or use 'ascending' or "
                          "'descending', which have no waves";
    return error;
  }
  return success();
}

AffineExpr dash::shiftedTile(AffineExpr place, AffineExpr size, AffineExpr begin,
                             AffineExpr columns, AffineExpr step) {
  return begin + ((place * columns).floorDiv(size) + step) % columns;
}

AffineExpr dash::shiftedRank(AffineExpr place, AffineExpr size, AffineExpr begin,
                             AffineExpr columns, AffineExpr q) {
  // The last walker that starts at or before q comes first, then the ones after it.
  AffineExpr pivot = ((q - begin + 1) * size - 1).floorDiv(columns);
  return (pivot - place) % size;
}

AffineExpr dash::shiftedStep(AffineExpr place, AffineExpr size, AffineExpr begin,
                             AffineExpr columns, AffineExpr q) {
  return (q - begin - (place * columns).floorDiv(size)) % columns;
}

AffineExpr dash::firstActiveQ(const Problem &problem, AffineExpr kv, const LineInputs &in) {
  std::optional<AffineExpr> tile = problem.band().activeQ(kv, in.offset).first;
  if (!tile)
    return getAffineConstantExpr(0, kv.getContext());
  // It is at least -(kv rows + right) / (q tile) and below the number of q tiles.
  return clampToZero(*tile, in.qTiles + in.kvTiles * problem.tiles.kv + problem.mask.right);
}
