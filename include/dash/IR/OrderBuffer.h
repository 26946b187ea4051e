//===- OrderBuffer.h - an order as the main kernel reads it ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All orders reach the main kernel as one buffer of i32 words, filled by an entry where they are formulas
// and by the launcher where they are a table:
//  - a header of 8 words;
//  - lists: workers + 1 words, worker w has the items lists[w] … lists[w + 1] - 1;
//  - items: records of 8 words, list after list: sequence, kv head, kv tile, first head (absolute), first
//    visit, visits per round, rounds, part turn. Step s of an item is visit s % (visits per round), on
//    head first head + the visit's + s / (visits per round);
//  - visits: records of 4 words: head (added to the first), q tile, turn, 1 if the turn is the last.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_IR_ORDERBUFFER_H
#define DASH_IR_ORDERBUFFER_H

#include "dash/IR/Problem.h"

namespace mlir::dash {

/// A row of the items of a table: all tasks of one (sequence, kv head, part, kv tile), in one worker's
/// hands.
struct Item {
  int32_t worker = 0, sequence = 0, kvHead = 0, part = 0, kv = 0;
  int32_t partTurn = 0; ///< its place in the chain of its dK and dV over the parts
};

/// A row of the visits of a table: one task of an item, and its turn in the chain of dQ tile (sequence of
/// the item, head, q).
struct Visit {
  int32_t head = 0, q = 0, turn = 0;
  bool operator==(const Visit &other) const {
    return head == other.head && q == other.q && turn == other.turn;
  }
};

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

/// Words of the buffer of an order. It counts them in 32 bits, which not every order fits.
inline int64_t numOrderWords(int64_t workers, int64_t items, int64_t tasks) {
  return orderFirstItem(workers) + orderItemWords * items + orderVisitWords * tasks;
}
constexpr int64_t maxOrderWords = std::numeric_limits<int32_t>::max();

/// The buffer of an order of a problem whose sequences are equal, with so many parts a kv head. Preconditions: each item and visit is one of
/// the problem's, each item has the visits that the mask leaves it, and the words are not too many.
std::vector<int32_t> encodeOrder(const Problem &problem, int64_t parts, int64_t workers,
                                 ArrayRef<Item> items, ArrayRef<Visit> visits);

} // namespace mlir::dash

#endif // DASH_IR_ORDERBUFFER_H
