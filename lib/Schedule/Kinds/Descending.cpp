//===- Descending.cpp - last q tile to first, kv tiles in turn ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DASH's order for causal masks (arXiv 2601.21824): every kv tile ends at its diagonal, so a worker
// that starts late has less to do. If the mask has one bound, items are dealt back and forth: the
// first kv tiles of a head are then its longest, or its shortest.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/OrderWithin.h"

using namespace mlir;
using namespace mlir::dash;

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context,
                              EmitError emitError) {
  LineInputs in(context);
  AffineExpr q = in.position;
  // With no bound, or two, items are equally long, except those of first columns. Dealing in turn
  // keeps the workers' stagger.
  const Mask &mask = header.problem.mask;
  Band band = mask.edges().band;
  bool isTriangle = (band.left < 0) != (band.right < 0);
  WideOrder wide{maskOfFormulas(mask),
                 {itemsInOrder(context),
                  isTriangle ? dealBackAndForth(context) : dealInTurn(context),
                  in.formula(in.last - in.position), turnByTile(header.problem, in)},
                 /*step=*/in.formula(in.qTiles - 1 - q)};
  return orderWithin(header, std::move(wide), emitError);
}

static StringRef purpose(const Mask &mask) {
  if (mask.isCausal())
    return "made for causal masks: every kv tile ends at its diagonal, so late starters do less";
  return "made for causal masks; on others it is ascending from the other end";
}

namespace mlir::dash::kinds {
extern const ScheduleKind Descending = {
    "descending", "q tiles last to first, chains by kv tile; balances causal masks", build,
    purpose};
} // namespace mlir::dash::kinds
