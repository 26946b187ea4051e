//===- OrderBuffer.cpp - an order as the main kernel reads it -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/OrderBuffer.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Writes the parts of the buffer one after the other.
class OrderEncoder {
public:
  OrderEncoder(const Problem &problem, int64_t parts, int64_t workers, ArrayRef<Item> items,
               ArrayRef<Visit> visits)
      : problem(problem), headsPerPart(problem.groupSize() / parts), workers(workers), items(items),
        visits(visits), firstItem(orderFirstItem(workers)),
        firstVisit(firstItem + orderItemWords * int64_t(items.size())),
        words(numOrderWords(workers, items.size(), visits.size())) {}

  std::vector<int32_t> encode() {
    writeHeader();
    writeLists();
    writeItems();
    return std::move(words);
  }

private:
  void writeHeader() {
    words[OrderVersion] = orderVersion;
    words[OrderWorkers] = workers;
    words[OrderItems] = items.size();
    words[OrderFirstList] = orderHeaderWords;
    words[OrderFirstItem] = firstItem;
    words[OrderFirstVisit] = firstVisit;
    words[OrderVisits] = visits.size();
  }

  /// The items of a worker keep the order in which they were issued.
  void writeLists() {
    int32_t *lists = words.data() + orderHeaderWords;
    for (const Item &item : items)
      ++lists[item.worker + 1];
    for (int64_t worker : llvm::seq(workers))
      lists[worker + 1] += lists[worker];
  }

  void writeItems() {
    const int32_t *lists = words.data() + orderHeaderWords;
    std::vector<int32_t> next(lists, lists + workers);
    // Sequences of a batch are equal, so the first one's tiles count for all.
    std::vector<int32_t> lastTurn, numVisits;
    for (int64_t q : llvm::seq(problem.numQTiles(0)))
      lastTurn.push_back(problem.activeKv(0, q).size() - 1);
    for (int64_t kv : llvm::seq(problem.numKvTiles(0)))
      numVisits.push_back(problem.activeQ(0, kv).size() * headsPerPart);
    int32_t begin = 0;
    int32_t *word = words.data() + firstVisit;
    for (const Item &item : items) {
      int32_t firstHead = item.kvHead * problem.groupSize() + item.part * headsPerPart;
      int32_t record[] = {item.sequence, item.kvHead,        item.kv, firstHead,
                          begin,         numVisits[item.kv], 1,       item.partTurn};
      std::copy(std::begin(record), std::end(record),
                words.begin() + firstItem + orderItemWords * next[item.worker]++);
      for (const Visit &visit : visits.slice(begin, numVisits[item.kv])) {
        *word++ = visit.head - firstHead;
        *word++ = visit.q;
        *word++ = visit.turn;
        *word++ = visit.turn == lastTurn[visit.q];
      }
      begin += numVisits[item.kv];
    }
  }

  const Problem &problem;
  int64_t headsPerPart, workers;
  ArrayRef<Item> items;
  ArrayRef<Visit> visits;
  int64_t firstItem, firstVisit;
  std::vector<int32_t> words;
};

} // namespace

std::vector<int32_t> dash::encodeOrder(const Problem &problem, int64_t parts, int64_t workers,
                                       ArrayRef<Item> items, ArrayRef<Visit> visits) {
  return OrderEncoder(problem, parts, workers, items, visits).encode();
}
