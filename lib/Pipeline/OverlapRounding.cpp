//===- OverlapRounding.cpp - round sums while others grow -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/DashOps.h"
#include "dash/Pipeline/Passes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dash {
#define GEN_PASS_DEF_OVERLAPROUNDING
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct OverlapRounding : public dash::impl::OverlapRoundingBase<OverlapRounding> {
  using OverlapRoundingBase::OverlapRoundingBase;

  void runOnOperation() override {
    SmallVector<WorkersOp> all;
    getOperation()->walk([&](WorkersOp workers) { all.push_back(workers); });
    if (all.empty())
      getOperation()->emitWarning() << "no 'dash.workers' whose sums are rounded; run "
                                       "--dash-assign-roles first";
    for (WorkersOp workers : all)
      overlap(workers);
  }

private:
  void overlap(WorkersOp workers) {
    auto function = workers->getParentOfType<FunctionOpInterface>();
    if (!function) // --dash-outline-program reports it
      return;
    SmallVector<OrderedReduceOp> adds;
    SmallVector<ConvertOp> converts;
    workers.walk([&](OrderedReduceOp add) { adds.push_back(add); });
    function->walk([&](ConvertOp convert) { converts.push_back(convert); });
    auto isTold = [&](ConvertOp convert) {
      return llvm::any_of(adds, [&](OrderedReduceOp add) {
        return add.getTarget() == convert.getSource() && !add.getApart();
      });
    };
    if (converts.empty() || !llvm::all_of(converts, isTold)) // nothing would reset the counters
      return;
    for (OrderedReduceOp add : adds)
      add.setSignalsCompletion(true);
    for (ConvertOp convert : converts)
      convert.setAwaitsCompletion(true);
    numOverlapped += converts.size();
  }
};

} // namespace
