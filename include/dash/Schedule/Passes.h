//===- Passes.h - passes of the stage Schedule -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_PASSES_H
#define DASH_SCHEDULE_PASSES_H

#include "dash/IR/Problem.h"
#include "dash/IR/TargetDescription.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::dash {

/// How an order is written into the IR.
enum class OrderForm { Formulas, Table };

/// Who a report is for.
enum class ReportFormat { Table, Json, Svg, Trace };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dash/Schedule/Passes.h.inc"

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PASSES_H
