//===- ExplainSchedule.cpp - a short text on each order of a module -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Report/Explanation.h"
#include "Report/ReportModule.h"
#include "dash/Schedule/Passes.h"
#include "dash/Schedule/ScheduleIR.h"
#include "dash/Support/WriteFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace mlir::dash {
#define GEN_PASS_DEF_EXPLAINSCHEDULE
#include "dash/Schedule/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct ExplainSchedule : public dash::impl::ExplainScheduleBase<ExplainSchedule> {
  using ExplainScheduleBase::ExplainScheduleBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    std::string text;
    llvm::raw_string_ostream os(text);
    LogicalResult result =
        forEachSchedule(getOperation(), [&](ScheduleOp op, std::string function) -> LogicalResult {
          const auto &proven = getChildAnalysis<ProvenSchedule>(op);
          if (!proven.isValid())
            return failure();
          os << (numExplained == 0 ? "" : "\n");
          writeExplanation(os, function, proven.getSchedule(), proven.getFacts(), &getContext(),
                           op.getLoc());
          ++numExplained;
          return success();
        });
    if (failed(result))
      return signalPassFailure();
    if (text.empty())
      getOperation()->emitWarning() << "no scheduled 'dash.items' to explain; run --dash-tile and "
                                       "--dash-apply-schedule first";
    if (llvm::Error error = writeFile(output, text)) {
      getOperation()->emitError() << "cannot write the explanation to '" << output.getValue()
                                  << "': " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
  }
};

} // namespace
