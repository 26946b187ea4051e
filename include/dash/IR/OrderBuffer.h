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
// Of a list of sequences, each with lengths of its own, two parts stand between the header and the lists:
//  - sequences: records of 12 words, one more than there are sequences (OrderSequence). Ranges of q rows and of kv
//    rows are apart, so that one kv range may come to belong to several records. Tiles are numbered through the
//    list; the last record has their numbers, and nothing else;
//  - owners: for each number of a q tile its sequence, -1 where there is none.
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
  OrderSequences, ///< of a list, behind the header; 0 of a batch
  orderHeaderWords
};
constexpr int64_t orderVersion = 1;
constexpr int64_t orderItemWords = 8, orderVisitWords = 4;

/// Words of a sequence's record.
enum OrderSequence : int64_t {
  SequenceQEnd, ///< the row of Q, dO, … behind its last
  SequenceQRows,
  SequenceFirstQTile,
  SequenceOffset, ///< kv rows minus q rows
  SequenceKvEnd,
  SequenceKvRows,
  SequenceFirstKvTile,
  SequenceFirstVisit, ///< of its kv tiles' lines of visits, where formulas fill the buffer
  SequenceFirstUnit,  ///< of its items, the same
  orderSequenceWords = 12
};

/// How many tiles of `tile` rows so many sequences of together `rows` rows have at most.
inline int64_t mostTilesOfList(int64_t rows, int64_t sequences, int64_t tile) {
  return llvm::divideCeil(rows + (tile - 1) * (sequences - 1), tile);
}

/// First word of the owners, of the lists, and of the items of a list of so many sequences and q tiles.
inline int64_t orderFirstOwner(int64_t sequences) {
  return orderHeaderWords + orderSequenceWords * (sequences + 1);
}
inline int64_t orderFirstListOfList(int64_t sequences, int64_t qTiles) {
  return llvm::alignTo(orderFirstOwner(sequences) + qTiles, orderItemWords);
}

/// First word of the items; records begin at multiples of 8 words.
inline int64_t orderFirstItem(int64_t workers) {
  return llvm::alignTo(orderHeaderWords + workers + 1, orderItemWords);
}

/// Words of the buffer of an order. It counts them in 32 bits, which not every order fits.
inline int64_t numOrderWords(int64_t workers, int64_t items, int64_t tasks) {
  return orderFirstItem(workers) + orderItemWords * items + orderVisitWords * tasks;
}
constexpr int64_t maxOrderWords = std::numeric_limits<int32_t>::max();

/// The buffer of an order with so many parts a kv head, of sequences that are equal, or of a list. Preconditions: each
/// item and visit is one of the problem's, each item has the visits that the mask leaves it, and the words are not too many.
std::vector<int32_t> encodeOrder(const Problem &problem, int64_t parts, int64_t workers,
                                 ArrayRef<Item> items, ArrayRef<Visit> visits, bool isList = false);

} // namespace mlir::dash

#endif // DASH_IR_ORDERBUFFER_H
