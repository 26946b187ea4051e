//===- DescribeProgram.h - a program as launchers see it -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_DESCRIBEPROGRAM_H
#define DASH_LIB_ENTRIES_DESCRIBEPROGRAM_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Everything that a launcher needs to know beside the entries, of the function that `workers` stand in, whose arguments have
/// roles. `numOrderWords` is the size of the order buffer where the order is a table. Where workers draw tickets, there is a region
/// for them.
ProgramAttr describeProgram(WorkersOp workers, ScheduleOp schedule, int64_t numOrderWords,
                            bool drawsTickets);

/// Where the order of a table comes from: the command that makes it for other sizes.
OrderSourceAttr describeTable(ScheduleOp schedule, bool isList, Apart apart);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_DESCRIBEPROGRAM_H
