//===- OrderTables.h - an order as constants of a program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CPU_ORDERTABLES_H
#define DASH_LIB_CPU_ORDERTABLES_H

#include "LoopBuilder.h"
#include "dash/Schedule/Schedule.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::dash {

/// Rows of i32 numbers: in the compiler, then a constant of the program.
struct NumberTable {
  explicit NumberTable(int64_t columns) : columns(columns) {}

  int64_t size() const { return numbers.size() / columns; }
  void append(ArrayRef<int64_t> row) { numbers.insert(numbers.end(), row.begin(), row.end()); }

  /// Adds the table to the program as a private `memref.global` in front of the op `before`, and
  /// gives its value.
  Value emit(LoopBuilder &b, StringRef name, SymbolTable &symbols, Operation *before) const;

  int64_t columns;
  std::vector<int32_t> numbers;
};

/// The number in a row and column of an emitted table, as an index.
Value tableEntry(LoopBuilder &b, Value table, Value row, int64_t column);

/// An order as one thread follows it. Contributions to chains have slots in a workspace: chain after
/// chain in the order of the JSON report, turn after turn.
struct OrderTables {
  explicit OrderTables(const Schedule &schedule);

  enum SequenceColumn { QRows, KvRows, QOffset, KvOffset };
  enum ItemColumn { Sequence, KvHead, KvTile, PartTurn, PartSlot, FirstVisit, EndVisit };
  enum VisitColumn { Head, QTile, Turn, Slot };
  enum ChainColumn { ChainSequence, ChainHead, ChainTile, FirstSlot, EndSlot };

  NumberTable sequences{4};  ///< row offsets are where the sequences lie one after the other
  NumberTable items{7};      ///< in issue order
  NumberTable visits{4};     ///< of one item after the other
  NumberTable chains{5};     ///< of dQ tiles, without the empty ones
  NumberTable partChains{5}; ///< of dK and dV tiles, over the parts
};

} // namespace mlir::dash

#endif // DASH_LIB_CPU_ORDERTABLES_H
