//===- ChainSums.h - sums of chains as loops --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_CHAINSUMS_H
#define DASH_LIB_CPU_CHAINSUMS_H

#include "LoopBuilder.h"
#include "TileLoops.h"

namespace mlir::dash {

/// Sums the slots of each chain in turn order and writes the sum's rows to `target`. `chains` is a
/// table as in OrderTables with `numChains` rows; `rowsOf` finds the rows of (sequence, head,
/// tile).
void emitChainSums(LoopBuilder &b, Value workspace, Value chains, int64_t numChains, Value target,
                   llvm::function_ref<TileRows(Value, Value, Value)> rowsOf);

} // namespace mlir::dash

#endif // DASH_LIB_CPU_CHAINSUMS_H
