//===- Ascending.cpp - first q tile to last, kv tiles in turn -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The deterministic order of FlashAttention-3, the baseline of DASH (arXiv 2601.21824). No item
// waits for a later one, so items may be handed out at run time. But on a full mask all workers
// want the same q tile at once, and start one reduction after the other.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/FormulaInputs.h"
#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/OrderWithin.h"

using namespace mlir;
using namespace mlir::dash;

/// Items that own q tiles walk kv tiles first to last.
static WideOrder orderOfQ(const Problem &problem, const LineInputs &in, MLIRContext *context) {
  return {maskOfFormulas(problem.mask),
          {itemsOfQInOrder(context), dealInTurn(context), tileAtStep(problem, in), /*turn=*/{}},
          /*step=*/in.formula(in.position)};
}

static FailureOr<Order> build(const ScheduleHeader &header, MLIRContext *context,
                              EmitError emitError) {
  LineInputs in(context);
  if (header.problem.ownsQ())
    return orderWithin(header, orderOfQ(header.problem, in, context), emitError);
  AffineExpr q = in.position;
  WideOrder wide{maskOfFormulas(header.problem.mask),
                 {itemsInOrder(context), dealInTurn(context), in.formula(in.first + in.position),
                  turnByTile(header.problem, in)},
                 /*step=*/in.formula(q)};
  return orderWithin(header, std::move(wide), emitError);
}

static StringRef purpose(const Mask &) {
  return "what unscheduled code does, to compare with: workers want the same q tile at once";
}

namespace mlir::dash::kinds {
extern const ScheduleKind Ascending = {
    "ascending",
    "q tiles first to last, chains by kv tile; what unscheduled code does",
    build,
    purpose,
    /*isSearched=*/false,
    /*isUnordered=*/false,
    /*summaryOfQ=*/"kv tiles first to last, items in turn; what unscheduled code does"};
} // namespace mlir::dash::kinds
