//===- Explanation.h - a short text on an order -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_REPORT_EXPLANATION_H
#define DASH_LIB_SCHEDULE_REPORT_EXPLANATION_H

#include "dash/Schedule/Verify.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dash {

/// Explains a proven schedule, the order of `function`: what it is, what it takes, and which
/// alternatives exist.
void writeExplanation(llvm::raw_ostream &os, StringRef function, const Schedule &schedule,
                      const ScheduleFacts &facts, MLIRContext *context, Location loc);

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_REPORT_EXPLANATION_H
