//===- FormulaInputs.h - what the formulas of a kind are made of -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_FORMULAINPUTS_H
#define DASH_SCHEDULE_FORMULAINPUTS_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// Inputs of the formula `item`, in their order.
struct ItemInputs {
  explicit ItemInputs(MLIRContext *context);
  Piecewise formula(AffineExpr group, AffineExpr kv, AffineExpr unit) const;
  /// For waves of a stated width (level machine): where a group needs several, as many groups as the
  /// workers hold run side by side, each on workers of its own, because a wave that shares workers
  /// with the next waits for it. Otherwise one group's units follow the other's, as they do best
  /// where waves are as wide as there are workers.
  Piecewise waveFormula(AffineExpr group, AffineExpr kv, AffineExpr unit, AffineExpr units) const;

  AffineExpr i, qTiles, kvTiles, groups, width, workers;
};

/// Inputs of the formulas `visit` and `turn`, in their order.
struct LineInputs {
  explicit LineInputs(MLIRContext *context);
  Piecewise formula(AffineExpr value) const;

  AffineExpr kv, position; ///< `position` is the step of a visit, the q tile of a turn
  AffineExpr qTiles, kvTiles, width, first, last, offset;
};

/// Item i is kv tile i mod kvTiles of group i / kvTiles, and a unit of its own.
Piecewise itemsInOrder(MLIRContext *context);

/// Unit u goes to worker u mod workers.
Piecewise dealInTurn(MLIRContext *context);
/// The first `workers` units go up the workers, the next go down, and so on: long items meet short
/// ones where lengths fall along the issue order.
Piecewise dealBackAndForth(MLIRContext *context);

/// The widest mask that hides no more than this one and has formulas: its first columns beside a window, if there is no
/// other rule, else its band.
Mask maskOfFormulas(const Mask &mask);

/// The turn of a kv tile in a chain that holds its tiles in their order.
Piecewise turnByTile(const Problem &problem, const LineInputs &in);

/// Splits `units` units of a group into the fewest waves of at most `width`, as even as possible.
/// The units of a wave walk at once.
struct Waves {
  Waves(AffineExpr unit, AffineExpr units, AffineExpr width);

  AffineExpr count;      ///< waves
  AffineExpr wave;       ///< the wave of `unit`
  AffineExpr begin, end; ///< its units
  AffineExpr size;       ///< end - begin
  AffineExpr place;      ///< unit - begin
  AffineExpr largest;    ///< the size of the largest wave
};

/// Fails where a wave is wider than there are workers. A group of `kvTiles` kv tiles has
/// ceil(kvTiles / tilesPerUnit) units.
LogicalResult verifyWavesFit(const ScheduleHeader &header, int64_t tilesPerUnit,
                             EmitError emitError);

/// A cyclic shift of `size` walkers over the `columns` tiles from `begin` on: walker `place` starts
/// `place * columns / size` tiles in and wraps around, so that no two stand on one tile as long as
/// there are as many tiles as walkers.
AffineExpr shiftedTile(AffineExpr place, AffineExpr size, AffineExpr begin, AffineExpr columns,
                       AffineExpr step);
/// In which place the walker comes to tile `q`, counted from the first that does.
AffineExpr shiftedRank(AffineExpr place, AffineExpr size, AffineExpr begin, AffineExpr columns,
                       AffineExpr q);

/// The step at which the walker comes to tile `q`.
AffineExpr shiftedStep(AffineExpr place, AffineExpr size, AffineExpr begin, AffineExpr columns,
                       AffineExpr q);

/// The first q tile that the mask's right bound lets see kv tile `kv`: 0 on a full mask, on the
/// diagonal of a causal one.
AffineExpr firstActiveQ(const Problem &problem, AffineExpr kv, const LineInputs &in);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_FORMULAINPUTS_H
