//===- ReadTurns.cpp - counters beside their order ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order buffer is that of dash/IR/OrderBuffer.h, which says what its words are. A dump may be
// anybody's, so no word is trusted: each is compared with the sizes before it is an index.
//
// A counter is the turn that comes next, and -1 behind a chain's last turn. Whoever waits is
// followed to the task that has the turn, and from there to the first task of that worker that is
// not given. Each of these steps goes back in the sequence of adds that the proof of the order
// names, so they end at a task that has its turn. A worker that runs gives such a turn; so in a
// launch that stands still, each end is a cause.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/Turns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace mlir::dash::launch;

static constexpr int64_t headerWords = 8, sequenceWords = 12, itemWords = 8, visitWords = 4;
static constexpr int64_t orderVersion = 1, firstTileOfSequence = 2;
static constexpr int32_t complete = -1;

static bool isTurns(StringRef name) { return name == "turns" || name.ends_with("_turns"); }

/// Sums grow in turns where they have a region; contributions that are kept apart have another.
static bool growsInTurns(const Manifest &manifest, StringRef turns) {
  std::string sums = turns == "turns" ? "dq_sum" : (turns.drop_back(5) + "sum").str();
  return manifest.isDeterministic &&
         any_of(manifest.workspace, [&](const Region &region) { return region.name == sums; });
}

bool Turns::needs(const Manifest &manifest, const Region &region) {
  return region.name == "order" || (isTurns(region.name) && growsInTurns(manifest, region.name));
}

namespace mlir::dash::launch {

class TurnsReader {
public:
  TurnsReader(const Manifest &manifest, const Values &values, ArrayRef<StringRef> regions,
              Turns &result)
      : manifest(manifest), values(values), regions(regions), result(result) {}

  Outcome run() {
    result.minWorkers = manifest.minWorkers;
    if (Outcome wrong = readCounters())
      return wrong;
    if (Outcome wrong = readHeader())
      return wrong;
    result.workers.assign(manifest.workers, {});
    result.lengths.assign(result.progress.size(), 0);
    std::vector<int64_t> tasks(result.progress.size());
    if (Outcome wrong = forEachTask([&](const TurnTask &task) {
          int32_t &length = result.lengths[task.chain];
          length = std::max<int32_t>(length, task.turn + 1);
          ++tasks[task.chain];
        }))
      return wrong;
    if (Outcome wrong = checkChains(tasks))
      return wrong;
    findNext();
    return follow();
  }

private:
  int64_t value(StringRef name) const { return values.lookup(name); }

  static Failure failDump(const Twine &what) {
    return fail(DASH_INVALID_ARGUMENT,
                what + "; it is of another program, or of other sizes, or damaged");
  }

  Outcome readCounters() {
    bool isOrdered = false;
    for (auto [region, bytes] : zip_equal(manifest.workspace, regions)) {
      if (region.name == "order") {
        order = bytes;
        continue;
      }
      if (!isTurns(region.name) || !growsInTurns(manifest, region.name))
        continue;
      isOrdered = true;
      int64_t expected = 0;
      if (Outcome wrong = region.bytes.evaluate(values, expected))
        return wrong;
      if (int64_t(bytes.size()) != expected)
        return fail(DASH_INVALID_ARGUMENT, "region '" + region.name + "': expected its " +
                                               Twine(expected) + " bytes for these sizes, found " +
                                               Twine(bytes.size()) +
                                               "; the dump is cut, or of other sizes");
      addSums(region.name, bytes);
    }
    if (!isOrdered)
      return fail(
          DASH_INVALID_ARGUMENT,
          "'" + manifest.name +
              "' adds in no order, or keeps all contributions apart: no worker of it waits for a "
              "turn; look for the cause in front of the launch");
    return std::nullopt;
  }

  void addSums(StringRef name, StringRef bytes) {
    bool isOfItems = name != "turns";
    Turns::Sums sums{isOfItems ? name.drop_back(StringRef("_turns").size()).str() : "dq",
                     isOfItems,
                     int64_t(result.progress.size()),
                     int64_t(bytes.size() / 4),
                     value(isOfItems ? "kv_heads" : "heads"),
                     value(isOfItems ? "kv_tiles" : "q_tiles"),
                     1};
    int64_t tiles = value("batch") * sums.heads * sums.tiles;
    if (isOfItems && tiles > 0)
      sums.pieces = sums.count / tiles;
    for (int64_t i : seq(sums.count))
      result.progress.push_back(support::endian::read32le(bytes.data() + 4 * i));
    result.sums.push_back(std::move(sums));
  }

  //===--------------------------------------------------------------------===//
  // The order
  //===--------------------------------------------------------------------===//

  int64_t numWords() const { return order.size() / 4; }
  int32_t word(int64_t i) const { return support::endian::read32le(order.data() + 4 * i); }

  Outcome readHeader() {
    if (numWords() < headerWords)
      return fail(DASH_INVALID_ARGUMENT, "order: expected a header of 32 bytes, found " +
                                             Twine(order.size()) +
                                             " bytes; hand over the order "
                                             "that the launch reads");
    if (word(0) != orderVersion)
      return failDump("order: expected version 1, found " + Twine(word(0)));
    if (word(1) != manifest.workers)
      return failDump("order: expected " + Twine(manifest.workers) + " workers, found " +
                      Twine(word(1)));
    numItems = word(2), firstList = word(3), firstItem = word(4), firstVisit = word(5);
    numSequences = word(7);
    auto fits = [&](int64_t first, int64_t count, int64_t words) {
      return first >= headerWords && count >= 0 && first + count * words <= numWords();
    };
    int64_t sequences = numSequences == 0 ? 0 : numSequences + 1;
    if (!fits(headerWords, sequences, sequenceWords) || !fits(firstList, manifest.workers + 1, 1) ||
        !fits(firstItem, numItems, itemWords))
      return failDump("order: expected lists and items within its " + Twine(numWords()) +
                      " words, found " + Twine(numItems) + " items from word " + Twine(firstItem));
    for (int64_t i : seq<int64_t>(sequences))
      result.firstTiles.push_back(word(headerWords + sequenceWords * i + firstTileOfSequence));
    if (numSequences == 0 && numItems > 0 && value("batch") == 0)
      return failDump("order: expected no items of an empty batch, found " + Twine(numItems));
    return std::nullopt;
  }

  Outcome checkTask(bool isThere, int64_t item, const Twine &what) const {
    if (isThere)
      return std::nullopt;
    return failDump("order: item " + Twine(item) + ": expected " + what +
                    " of the sizes, found one beyond them");
  }

  /// The chain of a q tile; the number of a list's tile is counted through it.
  Outcome chainOf(const Turns::Sums &sums, int64_t item, int64_t sequence, int64_t head,
                  int64_t tile, int64_t &chain) const {
    bool isList = numSequences > 0;
    int64_t sequences = isList ? numSequences : value("batch");
    int64_t first =
        isList && sequence >= 0 && sequence < sequences ? result.firstTiles[sequence] : 0;
    if (Outcome wrong =
            checkTask(sequence >= 0 && sequence < sequences && head >= 0 && head < sums.heads &&
                          tile >= 0 && first >= 0 && first + tile < sums.tiles,
                      item, "a sequence, head and tile"))
      return wrong;
    int64_t heads = isList ? head : sequence * sums.heads + head;
    chain = sums.first + (heads * sums.tiles + first + tile) * sums.pieces;
    return std::nullopt;
  }

  /// Calls `each` with every turn, worker by worker in the order of lists: an item's steps, then
  /// its pieces.
  template <typename Each> Outcome forEachTask(Each each) const {
    for (int64_t worker : seq(manifest.workers)) {
      int64_t begin = word(firstList + worker), end = word(firstList + worker + 1);
      if (begin < 0 || end < begin || end > numItems)
        return failDump("order: worker " + Twine(worker) + ": expected items up to " +
                        Twine(numItems) + ", found " + Twine(begin) + " to " + Twine(end));
      for (int64_t item : seq(begin, end))
        if (Outcome wrong = forEachTaskOf(worker, item, item - begin, each))
          return wrong;
    }
    return std::nullopt;
  }

  template <typename Each>
  Outcome forEachTaskOf(int64_t worker, int64_t item, int64_t place, Each &each) const {
    int64_t at = firstItem + itemWords * item;
    int64_t sequence = word(at), kvHead = word(at + 1), kv = word(at + 2), firstHead = word(at + 3);
    int64_t visit = word(at + 4), visits = word(at + 5), rounds = word(at + 6), part = word(at + 7);
    int64_t steps = visits * rounds;
    if (Outcome wrong = checkTask(
            visits >= 0 && rounds >= 0 && rounds <= values.lookup("heads") && visit >= 0 &&
                part >= 0 &&
                (steps == 0 || (firstVisit >= headerWords &&
                                firstVisit + visitWords * (visit + visits) <= numWords())),
            item, "visits"))
      return wrong;
    TurnTask task;
    task.worker = worker, task.item = place, task.steps = steps;
    for (const Turns::Sums &sums : result.sums) {
      if (sums.isOfItems) {
        task.turn = part;
        if (Outcome wrong = chainOf(sums, item, sequence, kvHead, kv, task.chain))
          return wrong;
        for (int64_t piece = 0; piece < sums.pieces; ++piece) {
          each(task);
          ++task.chain, ++task.step;
        }
        continue;
      }
      for (int64_t step : seq(steps)) {
        int64_t record = firstVisit + visitWords * (visit + step % visits);
        task.step = step, task.turn = word(record + 2);
        if (Outcome wrong = chainOf(sums, item, sequence, firstHead + word(record) + step / visits,
                                    word(record + 1), task.chain))
          return wrong;
        if (Outcome wrong = checkTask(task.turn >= 0 && task.turn < INT32_MAX, item, "a turn"))
          return wrong;
        each(task);
      }
      task.step = steps;
    }
    return std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Which worker waits for which
  //===--------------------------------------------------------------------===//

  /// Each turn of a chain is one task's, and its counter says how many are given.
  Outcome checkChains(ArrayRef<int64_t> tasks) {
    for (auto [chain, length] : enumerate(result.lengths)) {
      if (tasks[chain] != length)
        return failDump("order: " + result.nameOf(chain) + ": expected a task for each of " +
                        Twine(length) + " turns, found " + Twine(tasks[chain]));
      int32_t &given = result.progress[chain];
      if (length == 0)
        continue;
      if (given != complete && (given < 0 || given >= length))
        return failDump("the counter of " + result.nameOf(chain) + ": expected 0 to " +
                        Twine(length - 1) + ", or -1 where all turns are given, found " +
                        Twine(given) + ": the entry 'prepare' has not begun it, or the workspace");
      if (given == complete)
        given = length;
      result.given += given;
      result.total += length;
    }
    return std::nullopt;
  }

  void findNext() {
    holders.assign(result.progress.size(), {});
    (void)forEachTask([&](const TurnTask &task) { // checked before
      TurnWorker &worker = result.workers[task.worker];
      int32_t given = result.progress[task.chain];
      ++worker.total;
      worker.given += task.turn < given;
      if (task.turn == given)
        holders[task.chain] = task;
      if (worker.next.chain >= 0)
        worker.givenBehind += task.turn < given;
      else if (task.turn >= given)
        worker.next = task;
    });
  }

  /// Follows each worker's wait to its end.
  Outcome follow() {
    std::vector<int64_t> way;
    for (auto [number, start] : enumerate(result.workers)) {
      way.clear();
      int64_t at = number;
      while (result.workers[at].next.chain >= 0 && result.workers[at].root < 0) {
        TurnWorker &worker = result.workers[at];
        if (is_contained(way, at))
          return failDump(
              "order: expected waits that end, found workers that wait for each other: " +
              Twine(at));
        worker.holder = holders[worker.next.chain];
        way.push_back(at);
        if (worker.holder.worker == at && worker.holder.turn == worker.next.turn)
          worker.root = at;
        else
          at = worker.holder.worker;
      }
      for (int64_t on : reverse(way)) {
        TurnWorker &worker = result.workers[on];
        if (worker.root >= 0)
          continue;
        const TurnWorker &next = result.workers[worker.holder.worker];
        worker.root = next.root, worker.distance = next.distance + 1;
      }
    }
    for (auto [number, worker] : enumerate(result.workers))
      if (worker.root >= 0) {
        ++result.workers[worker.root].behind;
        if (worker.root == int64_t(number))
          result.roots.push_back(number);
      }
    for (int64_t root : result.roots)
      --result.workers[root].behind; // itself
    llvm::sort(result.roots, [&](int64_t one, int64_t other) {
      return std::pair(-result.workers[one].behind, one) <
             std::pair(-result.workers[other].behind, other);
    });
    return std::nullopt;
  }

  const Manifest &manifest;
  const Values &values;
  ArrayRef<StringRef> regions;
  Turns &result;
  StringRef order;
  int64_t numItems = 0, firstList = 0, firstItem = 0, firstVisit = 0, numSequences = 0;
  std::vector<TurnTask> holders; ///< of chains: the task whose turn comes next
};

} // namespace mlir::dash::launch

Outcome Turns::read(const Manifest &manifest, const Values &values, ArrayRef<StringRef> regions,
                    Turns &result) {
  if (regions.size() != manifest.workspace.size())
    return fail(DASH_INVALID_ARGUMENT, "expected the " + Twine(manifest.workspace.size()) +
                                           " regions of '" + manifest.name + "', found " +
                                           Twine(regions.size()));
  return TurnsReader(manifest, values, regions, result).run();
}
