//===- KeepApart.cpp - contributions that wait for nobody -----------------===//
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

struct KeepApart : public dash::impl::KeepApartBase<KeepApart> {
  using KeepApartBase::KeepApartBase;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    bool hasReducers = false;
    getOperation()->walk([&](RoleOp role) {
      if (!role.isReducer())
        return;
      hasReducers = true;
      ItemsOp items = role.getItems();
      if (auto schedule = symbols.lookupNearestSymbolFrom<ScheduleOp>(items, items.getOrderAttr()))
        keepApart(role, schedule.getApart());
    });
    if (!hasReducers)
      getOperation()->emitWarning()
          << "no 'dash.workers' with a reducer; run --dash-assign-roles first";
  }

private:
  void keepApart(RoleOp role, Apart apart) {
    SmallVector<OrderedReduceOp> adds;
    role.walk([&](OrderedReduceOp add) {
      // dQ's stand in the walk, those of parts behind it.
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
