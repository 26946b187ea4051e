//===- DescribeProgram.h - a program as launchers see it -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_DESCRIBEPROGRAM_H
#define DASH_LIB_ENTRIES_DESCRIBEPROGRAM_H

#include "dash/IR/TensorNames.h"

namespace mlir::dash {

/// Everything that a launcher needs to know beside the entries. `tensors` are the types of a program's
/// arguments, in the order of their roles, null for those that it does without, `list` says whether sequences are one,
/// `softcap` is null where scores have none, `numOrderWords` is the size of the order buffer where the order is a table. Where
/// workers draw tickets, there is a region for them.
ProgramAttr describeProgram(StringRef name, ArrayRef<TensorRole> roles,
                            ArrayRef<MemRefType> tensors, ScheduleOp schedule, SequencesAttr list,
                            FloatAttr softcap, Apart apart, bool overlapsRounding,
                            int64_t numOrderWords, bool drawsTickets);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_DESCRIBEPROGRAM_H
