//===- PrepareForward.h - the entry before a forward's main one -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_PREPAREFORWARD_H
#define DASH_LIB_ENTRIES_PREPAREFORWARD_H

#include "dash/Entries/Kernels.h"

namespace mlir::dash {

/// Builds `NAME_prepare` of a forward. Its main kernel reads nothing but tensors: only their
/// descriptors are made ready.
void buildPrepareOfForward(const Kernels &kernels);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_PREPAREFORWARD_H
