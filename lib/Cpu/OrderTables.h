//===- OrderTables.h - an order as constants of a program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_ORDERTABLES_H
#define DASH_LIB_CPU_ORDERTABLES_H

#include "LoopBuilder.h"
#include "dash/Schedule/Schedule.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::dash {

/// Rows of i32 numbers. The program holds them as a constant.
struct NumberTable {
  explicit NumberTable(int64_t columns) : columns(columns) {}

  int64_t size() const { return numbers.size() / columns; }
  void append(ArrayRef<int64_t> row) { numbers.insert(numbers.end(), row.begin(), row.end()); }

  /// Adds the table to the program as a private `memref.global` before the op `before`, and returns
  /// its value.
  Value emit(LoopBuilder &b, StringRef name, SymbolTable &symbols, Operation *before) const;

  int64_t columns;
  std::vector<int32_t> numbers;
};

/// The number in a row and column of an emitted table, as an index.
Value tableEntry(LoopBuilder &b, Value table, Value row, int64_t column);

/// An order as one thread follows it. Contributions to chains have slots in a workspace, chain
/// after chain as in the JSON report, turn after turn. Without chains there are no slots.
struct OrderTables {
  explicit OrderTables(const Schedule &schedule);

  enum SequenceColumn { QRows, KvRows, QOffset, KvOffset };
  enum ItemColumn { Sequence, OwnHead, OwnTile, PartTurn, PartSlot, FirstVisit, EndVisit };
  enum VisitColumn { WalkedHead, WalkedTile, Turn, Slot };
  enum ChainColumn { ChainSequence, ChainHead, ChainTile, FirstSlot, EndSlot };

  NumberTable sequences{4};  ///< with row offsets, where sequences are contiguous
  NumberTable items{7};      ///< in issue order
  NumberTable visits{4};     ///< item after item
  NumberTable chains{5};     ///< walked tiles (dQ), without empty ones
  NumberTable partChains{5}; ///< own tiles (dK and dV), over their parts
};

} // namespace mlir::dash

#endif // DASH_LIB_CPU_ORDERTABLES_H
