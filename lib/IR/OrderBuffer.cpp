//===- OrderBuffer.cpp - an order as the main kernel reads it -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/OrderBuffer.h"
#include "dash/IR/PartCut.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Writes the parts of the buffer one after the other.
class OrderEncoder {
public:
  OrderEncoder(const Problem &problem, int64_t parts, int64_t workers, ArrayRef<Item> items,
               ArrayRef<Visit> visits, bool isList)
      : problem(problem), cut(problem, parts), workers(workers), items(items), visits(visits),
        isList(isList), firstList(isList ? firstListOfList() : int64_t(orderHeaderWords)),
        firstItem(llvm::alignTo(firstList + workers + 1, orderItemWords)),
        firstVisit(firstItem + orderItemWords * int64_t(items.size())),
        words(firstVisit + orderVisitWords * int64_t(visits.size())) {}

  std::vector<int32_t> encode() {
    writeHeader();
    if (isList)
      writeSequences();
    writeLists();
    writeItems();
    return std::move(words);
  }

private:
  int64_t mostQTiles() const {
    int64_t rows = 0;
    for (const SequenceLengths &lengths : problem.sequences)
      rows += lengths.q;
    return mostTilesOfList(rows, problem.numSequences(), problem.tiles.q);
  }
  int64_t firstListOfList() const {
    return orderFirstListOfList(problem.numSequences(), mostQTiles());
  }

  void writeHeader() {
    words[OrderVersion] = orderVersion;
    words[OrderWorkers] = workers;
    words[OrderItems] = items.size();
    words[OrderFirstList] = firstList;
    words[OrderFirstItem] = firstItem;
    words[OrderFirstVisit] = firstVisit;
    words[OrderVisits] = visits.size();
    words[OrderSequences] = isList ? problem.numSequences() : 0;
  }

  void writeSequences() {
    int32_t *record = words.data() + orderHeaderWords;
    int32_t *owner = words.data() + orderFirstOwner(problem.numSequences());
    int32_t *lastOwner = owner + mostQTiles();
    SequenceLengths end;
    int64_t qTiles = 0, kvTiles = 0;
    for (int64_t s : llvm::seq(problem.numSequences())) {
      const SequenceLengths &lengths = problem.sequences[s];
      end = {end.q + lengths.q, end.kv + lengths.kv};
      record[SequenceQEnd] = end.q;
      record[SequenceQRows] = lengths.q;
      record[SequenceFirstQTile] = qTiles;
      record[SequenceOffset] = lengths.offset();
      record[SequenceKvEnd] = end.kv;
      record[SequenceKvRows] = lengths.kv;
      record[SequenceFirstKvTile] = kvTiles;
      owner = std::fill_n(owner, problem.numQTiles(s), s);
      qTiles += problem.numQTiles(s);
      kvTiles += problem.numKvTiles(s);
      record += orderSequenceWords;
    }
    record[SequenceFirstQTile] = qTiles;
    record[SequenceFirstKvTile] = kvTiles;
    std::fill(owner, lastOwner, -1);
  }

  /// A worker's items keep their issue order.
  void writeLists() {
    int32_t *lists = words.data() + firstList;
    for (const Item &item : items)
      ++lists[item.worker + 1];
    for (int64_t worker : llvm::seq(workers))
      lists[worker + 1] += lists[worker];
  }

  /// Values that the items of a sequence share: for each walked tile the last turn, for each own tile
  /// the number of visits to a head.
  struct Lines {
    std::vector<int32_t> lastTurn, numVisits;
  };
  Lines linesOf(int64_t sequence) const {
    Lines lines;
    for (int64_t tile : llvm::seq(problem.hasChains() ? problem.numWalkedTiles(sequence) : 0))
      lines.lastTurn.push_back(problem.activeOwn(sequence, tile).size() - 1);
    for (int64_t tile : llvm::seq(problem.numOwnTiles(sequence)))
      lines.numVisits.push_back(problem.activeWalked(sequence, tile).size());
    return lines;
  }

  void writeItems() {
    const int32_t *lists = words.data() + firstList;
    std::vector<int32_t> next(lists, lists + workers);
    // Sequences of a batch are equal, so the tiles of the first one stand for all.
    std::vector<Lines> lines;
    for (int64_t sequence : llvm::seq(isList ? problem.numSequences() : 1))
      lines.push_back(linesOf(sequence));
    int32_t begin = 0;
    int32_t *word = words.data() + firstVisit;
    for (const Item &item : items) {
      const auto &[lastTurn, numVisits] = lines[isList ? item.sequence : 0];
      int32_t firstHead = cut.firstHead(item.head, item.part);
      int32_t numTasks = cut.numTasks(item.part, numVisits[item.tile]);
      int32_t record[] = {item.sequence, item.head, item.tile, firstHead,
                          begin,         numTasks,  1,         item.partTurn};
      std::copy(std::begin(record), std::end(record),
                words.begin() + firstItem + orderItemWords * next[item.worker]++);
      for (const Visit &visit : visits.slice(begin, numTasks)) {
        *word++ = visit.head - firstHead;
        *word++ = visit.tile;
        *word++ = visit.turn;
        *word++ = problem.hasChains() && visit.turn == lastTurn[visit.tile];
      }
      begin += numTasks;
    }
  }

  const Problem &problem;
  PartCut cut;
  int64_t workers;
  ArrayRef<Item> items;
  ArrayRef<Visit> visits;
  bool isList;
  int64_t firstList, firstItem, firstVisit;
  std::vector<int32_t> words;
};

} // namespace

std::vector<int32_t> dash::encodeOrder(const Problem &problem, int64_t parts, int64_t workers,
                                       ArrayRef<Item> items, ArrayRef<Visit> visits, bool isList) {
  return OrderEncoder(problem, parts, workers, items, visits, isList).encode();
}
