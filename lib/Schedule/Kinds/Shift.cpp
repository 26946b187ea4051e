//===- Shift.cpp - every worker on a q tile of its own --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DASH's optimal order for full masks (arXiv 2601.21824): the kv tiles of a wave start at different
// q tiles and wrap around, so that nobody waits. On a causal mask a wave shifts over the q tiles
// that see all of it, then each kv tile walks up from its diagonal to where those begin.
//
// A chain holds wave after wave, so progress needs no more than that the units of a wave are on
// different workers: time = (group, wave, phase, step) grows along lists and along chains.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"

using namespace mlir;
using namespace mlir::dash;

static Piecewise buildItem(DeterminismLevel level, MLIRContext *context) {
  if (level < DeterminismLevel::Machine)
    return itemsInOrder(context);
  ItemInputs in(context);
  AffineExpr group = in.i.floorDiv(in.kvTiles), kv = in.i % in.kvTiles;
  return in.waveFormula(group, kv, /*unit=*/kv, /*units=*/in.kvTiles);
}

static Piecewise buildVisit(const Problem &problem, MLIRContext *context) {
  LineInputs in(context);
  Waves waves(in.kv, in.kvTiles, in.width);
  AffineExpr step = in.position, begin = firstActiveQ(problem, waves.end - 1, in);
  AffineExpr columns = in.qTiles - begin;
  AffineExpr dense = shiftedTile(waves.place, waves.size, begin, columns, step);
  if (problem.mask.isFull())
    return in.formula(dense);
  return select(columns - 1 - step, dense, in.formula(in.first + step - columns));
}

static Piecewise buildTurn(const Problem &problem, MLIRContext *context) {
  LineInputs in(context);
  Waves waves(in.kv, in.kvTiles, in.width);
  AffineExpr q = in.position, begin = firstActiveQ(problem, waves.end - 1, in);
  AffineExpr dense =
      waves.begin + shiftedRank(waves.place, waves.size, begin, in.qTiles - begin, q);
  if (problem.mask.isFull())
    return in.formula(dense);
  // On the way up from the diagonal, the kv tile nearest to it comes first.
  return select(q - begin, dense, in.formula(waves.begin + in.last - in.kv));
}

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context,
                              EmitError emitError) {
  if (failed(verifyWavesFit(header, /*tilesPerUnit=*/1, emitError)))
    return failure();
  return Order(Formulas{buildItem(header.level, context), dealInTurn(context),
                        buildVisit(header.problem, context), buildTurn(header.problem, context)});
}

static StringRef purpose(const Mask &mask) {
  if (mask.isFull())
    return "made for full masks: no two workers of a wave are at one q tile, so nobody waits";
  return "made for full masks; on others its kv tiles are not equally long, and workers wait or "
         "idle";
}

namespace mlir::dash::kinds {
extern const ScheduleKind Shift = {
    "shift", "each worker starts at a q tile of its own and wraps; optimal on full masks", build,
    purpose};
} // namespace mlir::dash::kinds
