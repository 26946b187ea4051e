//===- Shift.cpp - each worker on a different q tile ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DASH's optimal order for full masks (arXiv 2601.21824): the kv tiles of a wave start at different
// q tiles and wrap around, so no worker waits. On a causal mask a wave shifts over the q tiles that
// see all of it, then each kv tile walks up from its diagonal to where these begin.
//
// Within a window, each kv tile walks up from its first q tile, or down from its last if the window
// is open to the right. At the mask's edge, each kv tile has a different q tile.
//
// A chain holds wave after wave, so progress only needs the units of a wave to be on different
// workers: time = (group, wave, phase, step) grows along lists and along chains.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/OrderWithin.h"

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
  if (problem.mask.right < 0)
    return in.formula(dense);
  return select(columns - 1 - step, dense, in.formula(in.first + step - columns));
}

static Piecewise buildTurn(const Problem &problem, MLIRContext *context) {
  LineInputs in(context);
  Waves waves(in.kv, in.kvTiles, in.width);
  AffineExpr q = in.position, begin = firstActiveQ(problem, waves.end - 1, in);
  AffineExpr dense =
      waves.begin + shiftedRank(waves.place, waves.size, begin, in.qTiles - begin, q);
  if (problem.mask.right < 0)
    return in.formula(dense);
  // On the way up from the diagonal, the kv tile nearest to it comes first.
  return select(q - begin, dense, in.formula(waves.begin + in.last - in.kv));
}

static Piecewise buildStep(const Problem &problem, MLIRContext *context) {
  LineInputs in(context);
  Waves waves(in.kv, in.kvTiles, in.width);
  AffineExpr q = in.position, begin = firstActiveQ(problem, waves.end - 1, in);
  AffineExpr columns = in.qTiles - begin;
  return select(q - begin, shiftedStep(waves.place, waves.size, begin, columns, q),
                in.formula(columns + q));
}

/// In a window, no walk wraps. Within each wave, the chain of a q tile starts with the walk that
/// starts nearest.
static WideOrder buildWithinWindow(const ScheduleHeader &header, MLIRContext *context) {
  LineInputs in(context);
  Waves waves(in.kv, in.kvTiles, in.width);
  AffineExpr q = in.position;
  Piecewise item = buildItem(header.level, context), worker = dealInTurn(context);
  if (header.problem.mask.right < 0)
    return {header.problem.mask.band(),
            {item, worker, in.formula(in.last - in.position), in.formula(in.kv - in.first)},
            /*step=*/in.formula(in.qTiles - 1 - q)};
  AffineExpr ofEarlierWaves = clampToZero(waves.begin - in.first, in.kvTiles);
  AffineExpr nearest = in.last - clampToZero(in.last - waves.end + 1, in.kvTiles);
  return {header.problem.mask.band(),
          {item, worker, in.formula(in.first + in.position),
           in.formula(ofEarlierWaves + nearest - in.kv)},
          /*step=*/in.formula(q)};
}

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context,
                              EmitError emitError) {
  if (failed(verifyWavesFit(header, /*tilesPerUnit=*/1, emitError)))
    return failure();
  const Problem &problem = header.problem;
  if (problem.mask.left >= 0)
    return orderWithin(header, buildWithinWindow(header, context), emitError);
  WideOrder wide{problem.mask.band(),
                 {buildItem(header.level, context), dealInTurn(context),
                  buildVisit(problem, context), buildTurn(problem, context)},
                 buildStep(problem, context)};
  return orderWithin(header, std::move(wide), emitError);
}

static StringRef purpose(const Mask &mask) {
  if (mask.isFull())
    return "made for full masks: no two workers of a wave are at one q tile, so none waits";
  if (mask.isBand() && mask.left >= 0 && mask.right >= 0)
    return "in a window the kv tiles of a wave start at the diagonal, each at its own q tile, and "
           "walk side by side";
  return "made for full masks; on others its kv tiles are not equally long, and "
         "workers wait or "
         "idle";
}

namespace mlir::dash::kinds {
extern const ScheduleKind Shift = {
    "shift", "each worker starts at a q tile of its own and wraps; optimal on full masks", build,
    purpose};
} // namespace mlir::dash::kinds
