//===- OrderBuffer.cpp - an order as the main kernel reads it -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/OrderBuffer.h"
#include "dash/IR/PartCut.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include <unordered_map>

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Where items have their visits. Two items share a range if their visits are equal.
class SharedVisits {
public:
  /// The first item with these visits: `index` if there is none before. Takes the same time for a
  /// range of memory that was seen before, whatever its size.
  int64_t firstWith(int64_t index, ItemVisits item,
                    llvm::function_ref<ItemVisits(int64_t)> visitsOf) {
    if (item.visits.empty())
      return index;
    auto [seen, isNew] = byAddress.try_emplace({item.visits.data(), item.firstHead}, index);
    if (!isNew)
      return seen->second;
    size_t hash = 0;
    for (const Visit &visit : item.visits)
      hash = hash * 0x9E3779B97F4A7C15 +
             llvm::hash_combine(visit.head - item.firstHead, visit.tile, visit.turn);
    auto [begin, end] = byHash.equal_range(hash);
    for (auto one = begin; one != end; ++one)
      if (areEqual(visitsOf(one->second), item))
        return seen->second = one->second;
    byHash.emplace(hash, index);
    return index;
  }

private:
  static bool areEqual(ItemVisits a, ItemVisits b) {
    return a.visits.size() == b.visits.size() &&
           std::equal(a.visits.begin(), a.visits.end(), b.visits.begin(),
                      [&](const Visit &left, const Visit &right) {
                        return left.head - a.firstHead == right.head - b.firstHead &&
                               left.tile == right.tile && left.turn == right.turn;
                      });
  }

  llvm::DenseMap<std::pair<const Visit *, int64_t>, int64_t> byAddress;
  std::unordered_multimap<size_t, int64_t> byHash; // looked up only
};

/// Writes the parts of the buffer one after the other.
class OrderEncoder {
public:
  OrderEncoder(const Problem &problem, int64_t parts, int64_t workers, ArrayRef<Item> items,
               llvm::function_ref<ItemVisits(int64_t)> visitsOf, bool isList)
      : problem(problem), cut(problem, parts), workers(workers), items(items), visitsOf(visitsOf),
        isList(isList), firstList(isList ? firstListOfList() : int64_t(orderHeaderWords)),
        firstItem(llvm::alignTo(firstList + workers + 1, orderItemWords)),
        firstVisit(firstItem + orderItemWords * int64_t(items.size())) {}

  std::vector<int32_t> encode() {
    placeVisits();
    words.resize(firstVisit + orderVisitWords * numVisits);
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

  void placeVisits() {
    int64_t numTasks = 0;
    for (int64_t index : llvm::seq<int64_t>(items.size()))
      numTasks += visitsOf(index).visits.size();
    bool areShared = !isList && sharesVisits(problem, numTasks);
    SharedVisits shared;
    begins.reserve(items.size());
    for (int64_t index : llvm::seq<int64_t>(items.size())) {
      ItemVisits mine = visitsOf(index);
      int64_t first = areShared ? shared.firstWith(index, mine, visitsOf) : index;
      begins.push_back(first == index ? int32_t(numVisits) : begins[first]);
      if (first == index)
        numVisits += mine.visits.size();
    }
  }

  void writeHeader() {
    words[OrderVersion] = orderVersion;
    words[OrderWorkers] = workers;
    words[OrderItems] = items.size();
    words[OrderFirstList] = firstList;
    words[OrderFirstItem] = firstItem;
    words[OrderFirstVisit] = firstVisit;
    words[OrderVisits] = numVisits;
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

  /// The last turn of each walked tile.
  std::vector<int32_t> lastTurnsOf(int64_t sequence) const {
    std::vector<int32_t> turns;
    for (int64_t tile : llvm::seq(problem.hasChains() ? problem.numWalkedTiles(sequence) : 0))
      turns.push_back(problem.activeOwn(sequence, tile).size() - 1);
    return turns;
  }

  void writeItems() {
    const int32_t *lists = words.data() + firstList;
    std::vector<int32_t> next(lists, lists + workers);
    // Sequences of a batch are equal, so the tiles of the first one stand for all.
    std::vector<std::vector<int32_t>> lastTurns;
    for (int64_t sequence : llvm::seq(isList ? problem.numSequences() : 1))
      lastTurns.push_back(lastTurnsOf(sequence));
    int32_t *word = words.data() + firstVisit;
    int64_t written = 0;
    for (auto [index, item] : llvm::enumerate(items)) {
      auto [visits, firstHeadOfVisits] = visitsOf(index);
      int32_t firstHead = cut.firstHead(item.head, item.part), begin = begins[index];
      int32_t record[] = {item.sequence,
                          item.head,
                          item.tile,
                          firstHead,
                          begin,
                          int32_t(visits.size()),
                          1,
                          lastWordOf(problem, item)};
      std::copy(std::begin(record), std::end(record),
                words.begin() + firstItem + orderItemWords * next[item.worker]++);
      if (begin < written)
        continue; // shared
      const std::vector<int32_t> &lastTurn = lastTurns[isList ? item.sequence : 0];
      for (const Visit &visit : visits) {
        *word++ = visit.head - firstHeadOfVisits;
        *word++ = visit.tile;
        *word++ = visit.turn;
        *word++ = problem.hasChains() && visit.turn == lastTurn[visit.tile];
      }
      written += visits.size();
    }
  }

  const Problem &problem;
  PartCut cut;
  int64_t workers;
  ArrayRef<Item> items;
  llvm::function_ref<ItemVisits(int64_t)> visitsOf;
  bool isList;
  int64_t firstList, firstItem, firstVisit, numVisits = 0;
  std::vector<int32_t> begins; ///< first visit of each item
  std::vector<int32_t> words;
};

} // namespace

std::vector<int32_t> dash::encodeOrder(const Problem &problem, int64_t parts, int64_t workers,
                                       ArrayRef<Item> items,
                                       llvm::function_ref<ItemVisits(int64_t)> visitsOf,
                                       bool isList) {
  return OrderEncoder(problem, parts, workers, items, visitsOf, isList).encode();
}

std::vector<int32_t> dash::encodeOrder(const Problem &problem, int64_t parts, int64_t workers,
                                       ArrayRef<Item> items, ArrayRef<Visit> visits, bool isList) {
  PartCut cut(problem, parts);
  // Sequences of a batch are equal, so the tiles of the first one stand for all.
  std::vector<std::vector<int32_t>> numTiles; // piece after piece
  for (int64_t sequence : llvm::seq(isList ? problem.numSequences() : 1)) {
    std::vector<int32_t> &tiles = numTiles.emplace_back();
    for (int64_t piece : llvm::seq(problem.numKeyPieces(sequence)))
      for (int64_t tile : llvm::seq(problem.numOwnTiles(sequence)))
        tiles.push_back(problem.activeWalked(sequence, tile, piece).size());
  }
  std::vector<int64_t> begin = {0};
  begin.reserve(items.size() + 1);
  for (const Item &item : items) {
    int64_t piece = problem.isCut() ? item.part : 0, sequence = isList ? item.sequence : 0;
    int32_t tiles = numTiles[sequence][piece * problem.numOwnTiles(sequence) + item.tile];
    begin.push_back(begin.back() + cut.numTasks(item.part, tiles));
  }
  auto visitsOf = [&](int64_t index) {
    const Item &item = items[index];
    return ItemVisits{visits.slice(begin[index], begin[index + 1] - begin[index]),
                      cut.firstHead(item.head, item.part)};
  };
  return encodeOrder(problem, parts, workers, items, visitsOf, isList);
}
