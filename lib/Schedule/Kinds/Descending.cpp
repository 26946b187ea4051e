//===- Descending.cpp - last q tile to first, kv tiles in turn ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DASH's order for causal masks (arXiv 2601.21824): every kv tile ends at its diagonal, so a worker
// that starts late has less to do. Items are dealt back and forth, because on a causal mask the
// first kv tiles of a head are its longest.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"

using namespace mlir;
using namespace mlir::dash;

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context, EmitError) {
  LineInputs in(context);
  // On a full mask all items are equally long, and dealing them in turn keeps the workers' stagger.
  Piecewise worker = header.problem.mask.isFull() ? dealInTurn(context) : dealBackAndForth(context);
  return Order(Formulas{itemsInOrder(context), std::move(worker), in.formula(in.last - in.position),
                        in.formula(in.kv - in.first)});
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
