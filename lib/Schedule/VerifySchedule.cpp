//===- VerifySchedule.cpp - prove the orders of a module ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Passes.h"
#include "dash/Schedule/ScheduleIR.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

namespace mlir::dash {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "dash/Schedule/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct VerifySchedule : public dash::impl::VerifyScheduleBase<VerifySchedule> {
  using VerifyScheduleBase::VerifyScheduleBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool found = false;
    getOperation()->walk([&](ScheduleOp op) {
      found = true;
      const auto &proven = getChildAnalysis<ProvenSchedule>(op);
      if (!proven.isValid())
        return signalPassFailure();
      op.setMinWorkers(proven.getFacts().minWorkers);
      int64_t tasks = proven.getSchedule().problem.numTasks();
      remark::analysis(op.getLoc(), remark::RemarkOpts::name("proven").category(getArgument()))
          << remark::metric("schedule", op.getSymName()) << remark::metric("tasks", tasks)
          << remark::metric("minWorkers", proven.getFacts().minWorkers)
          << remark::metric("dynamicIssue", proven.getFacts().dynamicIssue);
      ++numVerified;
      numTasks += tasks;
    });
    if (!found)
      getOperation()->emitWarning()
          << "no 'dash.schedule' to verify; run --dash-tile and --dash-apply-schedule first";
  }
};

} // namespace
