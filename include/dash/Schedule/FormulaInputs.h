//===- FormulaInputs.h - the inputs of a kind's formulas --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_FORMULAINPUTS_H
#define DASH_SCHEDULE_FORMULAINPUTS_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// Inputs of the formula `item`, in order.
struct ItemInputs {
  explicit ItemInputs(MLIRContext *context);
  Piecewise formula(AffineExpr group, AffineExpr kv, AffineExpr unit) const;
  /// For waves of a stated width (level machine). If a group needs several waves, as many groups as
  /// the workers hold run side by side, each on separate workers: a wave that shares workers with
  /// the next one waits for it. Otherwise the units of groups follow each other, which is best if
  /// waves are as wide as the number of workers.
  Piecewise waveFormula(AffineExpr group, AffineExpr kv, AffineExpr unit, AffineExpr units) const;

  AffineExpr i, qTiles, kvTiles, groups, width, workers;
};

/// Inputs of the formulas `visit` and `turn`, in order.
struct LineInputs {
  explicit LineInputs(MLIRContext *context);
  Piecewise formula(AffineExpr value) const;

  /// `own` is the item's tile: kv, or q if items own q tiles. For `visit`, the step is the
  /// position; for `turn`, the walked tile is.
  AffineExpr own, kv, position;
  AffineExpr qTiles, kvTiles, width, first, last, offset;
};

/// Item i is kv tile i mod kvTiles of group i / kvTiles, and one unit.
Piecewise itemsInOrder(MLIRContext *context);

/// Unit u goes to worker u mod workers.
Piecewise dealInTurn(MLIRContext *context);
/// The first `workers` units go up the workers, the next go down, and so on: long items meet short
/// ones if lengths decrease along the issue order.
Piecewise dealBackAndForth(MLIRContext *context);

/// The widest mask with formulas that hides no more than this one: its first columns beside a
/// window if there is no other rule, else its band.
Mask maskOfFormulas(const Mask &mask);

/// Item i is q tile i mod qTiles of group i / qTiles, and a unit by itself.
Piecewise itemsOfQInOrder(MLIRContext *context);
/// The kv tile at a step of a walk upward from a q tile: that of the turn in `turnByTile`.
Piecewise tileAtStep(const Problem &problem, const LineInputs &in);

/// The turn of a kv tile in a chain that holds tiles in ascending order.
Piecewise turnByTile(const Problem &problem, const LineInputs &in);

/// Splits the `units` units of a group into the fewest waves of at most `width`, as evenly as
/// possible. The units of a wave walk at the same time.
struct Waves {
  Waves(AffineExpr unit, AffineExpr units, AffineExpr width);

  AffineExpr count;      ///< number of waves
  AffineExpr wave;       ///< the wave of `unit`
  AffineExpr begin, end; ///< its units
  AffineExpr size;       ///< end - begin
  AffineExpr place;      ///< unit - begin
  AffineExpr largest;    ///< the size of the largest wave
};

/// Fails if a wave is wider than the number of workers. A group of `kvTiles` kv tiles has
/// ceil(kvTiles / tilesPerUnit) units.
LogicalResult verifyWavesFit(const ScheduleHeader &header, int64_t tilesPerUnit,
                             EmitError emitError);

/// A cyclic shift of `size` walkers over the `columns` tiles from `begin` on. Walker `place` starts
/// `place * columns / size` tiles in and wraps around. So no two are on one tile if there are at
/// least as many tiles as walkers.
AffineExpr shiftedTile(AffineExpr place, AffineExpr size, AffineExpr begin, AffineExpr columns,
                       AffineExpr step);
/// The rank of the walker among those that reach tile `q`, starting with the first one that does.
AffineExpr shiftedRank(AffineExpr place, AffineExpr size, AffineExpr begin, AffineExpr columns,
                       AffineExpr q);

/// The step at which the walker reaches tile `q`.
AffineExpr shiftedStep(AffineExpr place, AffineExpr size, AffineExpr begin, AffineExpr columns,
                       AffineExpr q);

/// The first q tile that may see kv tile `kv` by the mask's right bound: 0 on a full mask, the
/// diagonal on a causal one.
AffineExpr firstActiveQ(const Problem &problem, AffineExpr kv, const LineInputs &in);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_FORMULAINPUTS_H
