//===- DealItems.cpp - lists that each launch deals by work ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas deal items without a look at the neighbours, and sequences of a list are as long as they
// please. Where an item waits for none but those that are issued earlier, any dealing will do that
// keeps the issue order: the item that is issued first of all unfinished ones waits for nothing,
// and all in front of it on its worker have ended. So a launch may deal by work.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/Kinds.h"
#include "dash/Schedule/Passes.h"
#include "dash/Schedule/ScheduleIR.h"
#include "mlir/IR/BuiltinOps.h"
#include <cmath>

namespace mlir::dash {
#define GEN_PASS_DEF_DEALITEMS
#include "dash/Schedule/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Prices in eighths of a task's compute: a boundary is then right to a few percent, and an item
/// may have 65535 tasks before it counts as shorter than it is.
static DealAttr pricesOf(const Cost &cost, MLIRContext *context) {
  constexpr int64_t task = 8;
  double boundary = std::round(task * cost.boundary / cost.compute);
  return DealAttr::get(context, task, std::min<double>(boundary, DealAttr::maxPrice));
}

/// Whether a launch may say how long the sequences are, and does not hand their items out one by
/// one: those of a forward finish their own sums.
static bool isDealt(ItemsOp items) {
  bool finishes = items.walk([](FinishOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return items.isScheduled() && items.getSequencesAttr() && !finishes;
}

namespace {

struct DealItems : public dash::impl::DealItemsBase<DealItems> {
  using DealItemsBase::DealItemsBase;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    WalkResult result = getOperation()->walk([&](ItemsOp items) -> WalkResult {
      if (!isDealt(items))
        return WalkResult::advance();
      auto order = symbols.lookupNearestSymbolFrom<ScheduleOp>(items, items.getOrderAttr());
      return deal(order);
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult deal(ScheduleOp order) {
    const ScheduleKind *kind = findScheduleKind(order.getKind());
    bool isOneList = order.getParts() == 1 && int64_t(order.getWorkers()) <= DealAttr::maxWorkers;
    if (!kind || !kind->isDealt || !order.getFormulas() || order.getDealAttr() || !isOneList)
      return success();
    ProvenSchedule given(order);
    if (!given.isValid())
      return failure();
    if (!given.getFacts().dynamicIssue)
      return order.emitError()
             << "cannot be dealt by work: expected items that wait for none but those issued "
                "earlier, as kind '"
             << kind->name
             << "' makes them, found formulas by which one waits for a later one; take those of "
                "the kind, or give the order another name";
    order.setDealAttr(pricesOf(given.getSchedule().cost, &getContext()));
    order.removeMinWorkersAttr(); // that of the lists before
    ProvenSchedule dealt(order);
    if (!dealt.isValid())
      return failure();
    order.setMinWorkers(dealt.getFacts().minWorkers);
    ++numDealt;
    return success();
  }
};

} // namespace
