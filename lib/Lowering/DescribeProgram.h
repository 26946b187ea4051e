//===- DescribeProgram.h - a program as launchers see it -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_LOWERING_DESCRIBEPROGRAM_H
#define DASH_LIB_LOWERING_DESCRIBEPROGRAM_H

#include "CheckProgram.h"
#include "dash/Schedule/Verify.h"

namespace mlir::dash {

/// Everything that a launcher needs to know beside the entries: the dictionary `dash.program`.
/// `numOrderWords` is the size of the order buffer where the order is a table.
DictionaryAttr describeProgram(StringRef name, const ProgramTensors &tensors,
                               const Schedule &schedule, const ScheduleFacts &facts,
                               int64_t numOrderWords);

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_DESCRIBEPROGRAM_H
