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
    bool hasReducers = false;
    WalkResult result = getOperation()->walk([&](RoleOp role) {
      if (!role.isReducer())
        return WalkResult::advance();
      hasReducers = true;
      return WalkResult(keepApart(role));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!hasReducers)
      getOperation()->emitWarning()
          << "no 'dash.workers' with a reducer; run --dash-assign-roles first";
  }

private:
  LogicalResult keepApart(RoleOp role) {
    SmallVector<OrderedReduceOp> adds;
    WalkResult result = role.walk([&](Operation *op) {
      if (auto add = dyn_cast<OrderedReduceOp>(op)) {
        // dQ's stand in the walk, those of parts behind it.
        if (gradients == Apart::All || !add->getParentOfType<WalkOp>())
          adds.push_back(add);
        return WalkResult::advance();
      }
      if (!isa<ReduceOp>(op))
        return WalkResult::advance();
      op->emitError("adds in no order, so a contribution has no turn to be kept by; use a schedule "
                    "whose kind is not 'unordered'");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
    if (adds.empty())
      return role.emitError("adds nothing of parts, whose contributions are to be kept apart: take "
                            "more parts than one, or gradients=all");
    for (OrderedReduceOp add : adds) {
      add.setApart(true);
      for (Operation *user : add.getTarget().getUsers())
        if (auto convert = dyn_cast<ConvertOp>(user);
            convert && convert.getSource() == add.getTarget())
          convert.setApart(true);
      ++numApart;
    }
    return success();
  }
};

} // namespace
