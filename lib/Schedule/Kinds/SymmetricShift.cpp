//===- SymmetricShift.cpp - shift with the triangles folded ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DASH's optimal order for causal masks (arXiv 2601.21824). A unit is a kv tile of the lower half
// and its mirror image in the upper half: kv x and kvTiles - 1 - x, together always the same work.
// The lows of a wave shift over the rectangle of q tiles that see more than all of them, then walk
// up from their diagonals. The highs walk down from the last q tile, each as late as its low was
// long, so that no two meet. With an odd number of kv tiles, the middle one is a high without a
// low.
//
// The formulas hold for any right bound. Whatever else a mask hides is left out of their order.
//
// Time = (group, wave, low or high, phase, step) grows along lists and along chains, as in shift.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/OrderWithin.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The wave of a unit, seen from one of its kv tiles.
struct FoldedWaves : Waves {
  FoldedWaves(AffineExpr unit, AffineExpr kvTiles, AffineExpr width)
      : Waves(unit, kvTiles.ceilDiv(2), width),
        // With an odd number of kv tiles, the last unit has no low.
        lowsEnd(end - end.floorDiv(kvTiles.ceilDiv(2)) * (kvTiles % 2)), lows(lowsEnd - begin) {}

  AffineExpr lowsEnd; ///< the lows are the kv tiles [begin, lowsEnd)
  AffineExpr lows;
};

class SymmetricShift {
public:
  SymmetricShift(const Problem &problem, MLIRContext *context)
      : problem(problem), context(context), in(context), low(in.kv, in.kvTiles, in.width),
        high(in.kvTiles - 1 - in.kv, in.kvTiles, in.width), isHigh(in.kv - in.kvTiles.floorDiv(2)),
        rectangle(firstActiveQ(problem, low.end, in)), columns(in.qTiles - rectangle) {}

  Piecewise item(DeterminismLevel level) const {
    ItemInputs in(context);
    AffineExpr group = in.i.floorDiv(in.kvTiles), place = in.i % in.kvTiles;
    AffineExpr unit = place.floorDiv(2);
    AffineExpr kv = unit + (place % 2) * (in.kvTiles - 1 - unit * 2);
    AffineExpr units = in.kvTiles.ceilDiv(2);
    if (level < DeterminismLevel::Machine)
      return in.formula(group, kv, group * units + unit);
    return in.waveFormula(group, kv, unit, units);
  }

  Piecewise visit() const {
    AffineExpr step = in.position;
    AffineExpr dense = shiftedTile(low.place, low.lows, rectangle, columns, step);
    if (problem.mask.right < 0)
      return select(isHigh, shiftedTile(high.place, high.size, rectangle, columns, step),
                    in.formula(dense));
    AffineExpr diagonal = in.first + step - columns;
    return select(isHigh, in.last - step, select(columns - 1 - step, dense, in.formula(diagonal)));
  }

  Piecewise step() const {
    AffineExpr q = in.position;
    Piecewise lows = select(q - rectangle, shiftedStep(low.place, low.lows, rectangle, columns, q),
                            in.formula(columns + q));
    AffineExpr highs = problem.mask.right < 0
                           ? shiftedStep(high.place, high.size, rectangle, columns, q)
                           : in.qTiles - 1 - q;
    return select(isHigh, highs, lows);
  }

  Piecewise turn() const {
    AffineExpr q = in.position;
    AffineExpr dense =
        low.begin + earlierHighs(low) + shiftedRank(low.place, low.lows, rectangle, columns, q);
    AffineExpr highs = high.lowsEnd + earlierHighs(high);
    if (problem.mask.right < 0)
      return select(isHigh, highs + shiftedRank(high.place, high.size, rectangle, columns, q),
                    in.formula(dense));
    // Nearest to the diagonal first, from the last low of the wave that q sees.
    AffineExpr nearest = in.last - clampToZero(in.last - low.lowsEnd + 1, in.kvTiles);
    AffineExpr lowestHigh = in.kvTiles - high.end;
    return select(isHigh, highs + in.kv - lowestHigh,
                  select(q - rectangle, dense, in.formula(low.begin + nearest - in.kv)));
  }

private:
  /// The highs of earlier waves, [kvTiles - begin, kvTiles), that the q tile sees.
  AffineExpr earlierHighs(const Waves &waves) const {
    if (problem.mask.right < 0)
      return waves.begin;
    return clampToZero(in.last - in.kvTiles + waves.begin + 1, in.kvTiles);
  }

  const Problem &problem;
  MLIRContext *context;
  LineInputs in;
  FoldedWaves low, high;
  AffineExpr isHigh;    ///< >= 0 for highs
  AffineExpr rectangle; ///< its first q tile; it ends with the last one
  AffineExpr columns;
};

} // namespace

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context,
                              EmitError emitError) {
  if (failed(verifyWavesFit(header, /*tilesPerUnit=*/2, emitError)))
    return failure();
  SymmetricShift kind(header.problem, context);
  WideOrder wide{header.problem.mask.withoutLeft(),
                 {kind.item(header.level), dealInTurn(context), kind.visit(), kind.turn()},
                 kind.step()};
  return orderWithin(header, std::move(wide), emitError);
}

static StringRef purpose(const Mask &mask) {
  if (mask.isCausal())
    return "made for causal masks: a long kv tile and a short one are equal work, and no worker "
           "waits";
  if (mask.isFull())
    return "made for causal masks; on full ones it folds what needs no folding";
  return "made for causal masks; on others a kv tile and its mirror image are not equal work";
}

namespace mlir::dash::kinds {
extern const ScheduleKind SymmetricShift = {
    "symmetric-shift", "shift that folds a kv tile with its mirror image; optimal on causal masks",
    build, purpose};
} // namespace mlir::dash::kinds
