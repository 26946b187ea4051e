//===- Unordered.cpp - unordered adds, for comparison ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What attention backwards do if the same bits are not requested: atomics add contributions as they
// come. Lists and visits are those of `ascending`. There are no chains, so no worker waits; the
// extra time of another kind is the price of turns.
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
  AffineExpr q = in.position, noTurn = getAffineConstantExpr(0, context);
  WideOrder wide{header.problem.mask.band(),
                 {itemsInOrder(context), dealInTurn(context), in.formula(in.first + in.position),
                  in.formula(noTurn)},
                 /*step=*/in.formula(q)};
  FailureOr<Order> order = orderWithin(header, std::move(wide), emitError);
  if (failed(order))
    return failure();
  // If the mask leaves gaps, the table has closed-up chains; this kind has none.
  if (auto *table = std::get_if<Table>(&*order))
    for (Visit &visit : table->visits)
      visit.turn = 0;
  return order;
}

static StringRef purpose(const Mask &) {
  return "not deterministic, to compare with: what is slower than this waits for turns";
}

namespace mlir::dash::kinds {
extern const ScheduleKind Unordered = {
    "unordered",
    "q tiles first to last, adds as they come; not deterministic, for comparison",
    build,
    purpose,
    /*isSearched=*/false,
    /*isUnordered=*/true};
} // namespace mlir::dash::kinds
