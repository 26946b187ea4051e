//===- MemoryRoles.h - the memory that ops of a main kernel use -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_MEMORYROLES_H
#define DASH_LIB_ENTRIES_MEMORYROLES_H

#include "dash/IR/KernelAttrs.h"

namespace mlir::dash {

/// Fails, with an error at the op, if it copies or adds to memory that has no such role in the
/// program.
LogicalResult checkMemoryRoles(Operation *op, ProgramAttr program);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_MEMORYROLES_H
