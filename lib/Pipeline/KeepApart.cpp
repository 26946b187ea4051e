//===- KeepApart.cpp - contributions that wait for no turn ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/DashOps.h"
#include "dash/Pipeline/Passes.h"

namespace mlir::dash {
#define GEN_PASS_DEF_KEEPAPART
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Whether a role of the function adds to memory.
bool isAddedTo(WorkersOp workers) {
  return llvm::any_of(workers.getRoles(), [](RoleOp role) { return role.isReducer(); });
}

struct KeepApart : public dash::impl::KeepApartBase<KeepApart> {
  using KeepApartBase::KeepApartBase;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    bool hasReducers = false;
    WalkResult result = getOperation()->walk([&](RoleOp role) -> WalkResult {
      // Roles of a program that adds nothing to memory have nothing to keep.
      hasReducers |= role.isConsumer() && !isAddedTo(role->getParentOfType<WorkersOp>());
      if (!role.isReducer())
        return WalkResult::advance();
      hasReducers = true;
      ItemsOp items = role.getItems();
      if (!items || !items.isScheduled())
        return role.emitError() << "has no scheduled 'dash.items', whose order says what is kept "
                                   "apart; run --dash-apply-schedule and --dash-assign-roles first";
      if (auto schedule = symbols.lookupNearestSymbolFrom<ScheduleOp>(items, items.getOrderAttr()))
        keepApart(role, schedule.getApart());
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!hasReducers)
      getOperation()->emitWarning()
          << "no 'dash.workers' with a reducer; run --dash-assign-roles first";
  }

private:
  void keepApart(RoleOp role, Apart apart) {
    SmallVector<OrderedReduceOp> adds;
    role.walk([&](OrderedReduceOp add) {
      // Adds of dQ are in the walk, those of parts after it.
      bool isOfPart = !add->getParentOfType<WalkOp>();
      if (apart == Apart::All || (apart == Apart::Parts && isOfPart))
        adds.push_back(add);
    });
    for (OrderedReduceOp add : adds) {
      add.setApart(true);
      for (Operation *user : add.getTarget().getUsers())
        if (auto convert = dyn_cast<ConvertOp>(user);
            convert && convert.getSource() == add.getTarget())
          convert.setApart(true);
      ++numApart;
    }
  }
};

} // namespace
