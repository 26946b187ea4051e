//===- OrderBuffer.h - an order as the main kernel reads it ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every order reaches the main kernel as one buffer of i32 words. An entry fills it if the order is
// formulas; the launcher does if it is a table:
//  - a header of 8 words;
//  - lists: workers + 1 words, worker w has the items lists[w] … lists[w + 1] - 1. Where workers
//    draw items while the program runs, the header says 1, and there is one list;
//  - items: records of 8 words, list after list: sequence, the head and the tile that it owns, the
//    first head that it walks (absolute), first visit, visits per round, rounds, part turn. Where
//    keys are cut, its head among those of all pieces stands in place of the turn. Step s
//    of an item is visit s % (visits per round), on head first head + the visit's + s / (visits per
//    round);
//  - visits: records of 4 words: head (added to the first), walked tile, turn, 1 if the turn is the
//    last. Without chains the last two are 0. Items may share a range of visits.
//
// For a list of sequences with different lengths, two parts stand between the header and the lists:
//  - sequences: records of 12 words, one more than there are sequences (OrderSequence). Ranges of q
//    rows and of kv rows are separate, so that one kv range may belong to several records. Tiles
//    are numbered through the list; the last record has only their total numbers;
//  - owners: for each number of a q tile its sequence; -1 if there is none.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_IR_ORDERBUFFER_H
#define DASH_IR_ORDERBUFFER_H

#include "dash/IR/Problem.h"

namespace mlir::dash {

/// A row of the items of a table: all tasks of one (sequence, head, part, tile) of the side that
/// items own, done by one worker.
struct Item {
  int32_t worker = 0, sequence = 0, head = 0, part = 0, tile = 0;
  int32_t partTurn = 0; ///< its position in the chain of its dK and dV over the parts
  // Where keys are cut, part and part turn are the piece.
};

/// A row of the visits of a table: one task of an item, at a head and a tile of the walked side,
/// and its turn in the chain of dQ tile (sequence of the item, head, tile); 0 if there are no
/// chains.
struct Visit {
  int32_t head = 0, tile = 0, turn = 0;
  bool operator==(const Visit &other) const {
    return head == other.head && tile == other.tile && turn == other.turn;
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
  OrderSequences, ///< for a list, after the header; 0 for a batch
  orderHeaderWords
};
constexpr int64_t orderVersion = 1;
constexpr int64_t orderItemWords = 8, orderVisitWords = 4;

/// Words of a sequence's record.
enum OrderSequence : int64_t {
  SequenceQEnd, ///< the row of Q, dO, … after its last
  SequenceQRows,
  SequenceFirstQTile,
  SequenceOffset, ///< kv rows minus q rows
  SequenceKvEnd,
  SequenceKvRows,
  SequenceFirstKvTile,
  SequenceFirstVisit, ///< first line of visits of its items' tiles, if formulas fill the buffer
  SequenceFirstUnit,  ///< first unit of its items, likewise
  SequenceFirstItem,  ///< where keys are cut: first of a head's items (tile, piece), likewise
  orderSequenceWords = 12
};

/// The most tiles of `tile` rows that this many sequences with `rows` rows in total can have.
inline int64_t mostTilesOfList(int64_t rows, int64_t sequences, int64_t tile) {
  return llvm::divideCeil(rows + (tile - 1) * (sequences - 1), tile);
}

/// The first word of the owners, of the lists, and of the items, for a list with these numbers of
/// sequences and q tiles.
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

/// The number of words of an order's buffer if no items share visits. The buffer counts them in 32
/// bits, which not every order fits.
inline int64_t numOrderWords(int64_t workers, int64_t items, int64_t tasks) {
  return orderFirstItem(workers) + orderItemWords * items + orderVisitWords * tasks;
}
constexpr int64_t maxOrderWords = std::numeric_limits<int32_t>::max();

/// Beyond so many tasks of several kv heads, items with equal visits, counted from their first
/// heads, share one range of the buffer. Otherwise each item has a range of its own.
constexpr int64_t fewestSharedTasks = int64_t(5) << 19;
inline bool sharesVisits(const Problem &problem, int64_t tasks) {
  return tasks > fewestSharedTasks && problem.numSequences() * problem.kvHeads > 1;
}

/// The last word of an item's record.
inline int32_t lastWordOf(const Problem &problem, const Item &item) {
  return problem.isCut() ? item.partTurn * problem.ownHeads() + item.head : item.partTurn;
}

/// The visits of an item. Their heads count on from the item's first one as these do from
/// `firstHead`.
struct ItemVisits {
  ArrayRef<Visit> visits;
  int64_t firstHead = 0;
};

/// The buffer of an order with this many parts for each kv head, for equal sequences or for a list.
/// Preconditions: each item and visit is within the problem, each item has the visits that the mask
/// leaves it, and 32 bits count the words.
std::vector<int32_t> encodeOrder(const Problem &problem, int64_t parts, int64_t workers,
                                 ArrayRef<Item> items, ArrayRef<Visit> visits, bool isList = false);

/// The same with the visits of each item by its index, for orders whose items have them in common.
std::vector<int32_t> encodeOrder(const Problem &problem, int64_t parts, int64_t workers,
                                 ArrayRef<Item> items,
                                 llvm::function_ref<ItemVisits(int64_t)> visitsOf,
                                 bool isList = false);

} // namespace mlir::dash

#endif // DASH_IR_ORDERBUFFER_H
