//===- DescribeProgram.h - a program as launchers see it -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_DESCRIBEPROGRAM_H
#define DASH_LIB_ENTRIES_DESCRIBEPROGRAM_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Everything besides the entries that a launcher needs to know of the function around these
/// workers, a main kernel each; its arguments have roles. `numOrderWords` is the size of the order
/// buffer if the order is a table. With tickets, there is a region for them.
ProgramAttr describeProgram(ArrayRef<WorkersOp> all, ScheduleOp schedule, int64_t numOrderWords,
                            bool drawsTickets);

/// The source of a table: the command that makes it for other sizes.
OrderSourceAttr describeTable(ScheduleOp schedule, bool isList, Apart apart);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_DESCRIBEPROGRAM_H
