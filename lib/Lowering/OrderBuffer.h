//===- OrderBuffer.h - an order as the main kernel reads it ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All orders reach the main kernel as one buffer of i32 words, filled by an entry where they are formulas
// and by the launcher, from a file, where they are a table:
//  - a header of 8 words;
//  - lists: workers + 1 words, worker w has the items lists[w] … lists[w + 1] - 1;
//  - items: records of 8 words, list after list: sequence, kv head, kv tile, first head (absolute), first
//    visit, visits per round, rounds, part turn. Step s of an item is visit s % (visits per round), on
//    head first head + the visit's + s / (visits per round);
//  - visits: records of 4 words: head (added to the first), q tile, turn, 1 if the turn is the last.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LIB_LOWERING_ORDERBUFFER_H
#define DASH_LIB_LOWERING_ORDERBUFFER_H

#include "dash/IR/DashOps.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dash {

enum OrderHeader : int64_t {
  OrderVersion, ///< 1
  OrderWorkers,
  OrderItems,
  OrderFirstList, ///< first word of the lists
  OrderFirstItem,
  OrderFirstVisit,
  OrderVisits,
  OrderReserved, ///< 0
  orderHeaderWords
};
constexpr int64_t orderVersion = 1;
constexpr int64_t orderItemWords = 8, orderVisitWords = 4;

/// First word of the items; records begin at multiples of 8 words.
inline int64_t orderFirstItem(int64_t workers) {
  return llvm::alignTo(orderHeaderWords + workers + 1, orderItemWords);
}

/// The buffer of a proven order that is a table and has one part. Fails with a message where words of 32
/// bits cannot count it, or where the table cannot have been proven.
FailureOr<std::vector<int32_t>> encodeOrder(ScheduleOp schedule,
                                            function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dash

#endif // DASH_LIB_LOWERING_ORDERBUFFER_H
