//===- ListOrder.cpp - formulas over a list of sequences ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each sequence is ordered by itself: formulas see its tiles and its kv heads, and nothing of the others, so its bits do not
// depend on them. Which worker has its items does: units follow those of the sequence in front. Sequences are found by
// searching their records, which ascend in each of their numbers.
//
// No two sequences share a chain, and on each list the items of one stand in front of those of the next. So waits could be in a cycle
// only within one sequence, where lists are those of the order of that sequence alone, on workers that are numbered from
// another one on.
//
//===----------------------------------------------------------------------===//

#include "OrderBuilder.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/OrderBuffer.h"

using namespace mlir;
using namespace mlir::dash;
using arith::CmpIPredicate;

namespace {

class ListOrderBuilder : public OrderBuilder {
public:
  ListOrderBuilder(const Kernels &kernels, FormulasAttr formulas)
      : OrderBuilder(kernels, formulas, makeLaunch(),
                     ParameterList().workspace("order").sizes(
                         {"heads", "kv_heads", "sequences", "q_tiles", "workers", "width"})) {}

private:
  static EntryLaunch makeLaunch() {
    EntryLaunch launch = OrderBuilder::makeLaunch();
    launch.when = EntryWhen::Always;
    return launch;
  }

  void readSizes() override {
    kvHeads = size("kv_heads");
    workers = size("workers");
    width = size("width");
    numSequences = size("sequences");
    groupSize = b.quotient(size("heads"), kvHeads);
    groups = kvHeads; // one sequence at a time
    numItems = b.mul(kvHeads, totalOf(SequenceFirstKvTile));
    firstOwner = b.add(b.mul(b.add(numSequences, 1), orderSequenceWords), orderHeaderWords);
    firstList = aligned(b.add(firstOwner, size("q_tiles")));
    firstItem = aligned(b.add(b.add(firstList, workers), 1));
    firstVisit = b.add(firstItem, b.mul(numItems, orderItemWords));
  }
  Value aligned(Value word) { return b.bitAnd(b.add(word, orderItemWords - 1), -orderItemWords); }

  Value numberOf(Value sequence, int64_t word) {
    Value record = b.add(b.mul(sequence, orderSequenceWords), orderHeaderWords + word);
    return b.toI64(hopper::loadWordGlobal(b, wordAt(record), 0));
  }
  /// Behind the last sequence stands how many there are of all.
  Value totalOf(int64_t word) { return numberOf(numSequences, word); }

  /// The sequence among whose tiles, or visits, number `value` is: the last that begins at no more. Of empty ones and the
  /// one behind them, which begin at one number, that is the latter.
  Value find(int64_t word, Value value) {
    constexpr int64_t mostHalvings = 17; // of the sequences that kernels serve
    SmallVector<Value> found = b.forEach(
        b.i32(0), b.i32(mostHalvings), b.i32(1), ValueRange{b.i64(0), numSequences},
        [&](Value, ValueRange range) -> SmallVector<Value> {
          Value middle = b.shiftRight(b.add(range[0], range[1]), 1);
          Value isBehind = b.compare(CmpIPredicate::sle, numberOf(middle, word), value);
          return {b.choose(isBehind, middle, range[0]), b.choose(isBehind, range[1], middle)};
        });
    return found[0];
  }

  /// Formulas see a sequence's sizes.
  void enter(Value sequence) {
    Value qRows = numberOf(sequence, SequenceQRows), kvRows = numberOf(sequence, SequenceKvRows);
    qTiles = b.ceilDiv(qRows, kernels.qTile());
    kvTiles = b.ceilDiv(kvRows, kernels.kvTile());
    offset = b.sub(kvRows, qRows);
    nameSizes();
  }

  ItemValues itemAt(Value i) override {
    Value sequence = find(SequenceFirstKvTile, b.quotient(i, kvHeads));
    enter(sequence);
    Value first = b.mul(numberOf(sequence, SequenceFirstKvTile), kvHeads);
    SmallVector<Value> values = evaluate("item", formulas.getItem(), {{"i", b.sub(i, first)}});
    Value unit = b.add(values[2], numberOf(sequence, SequenceFirstUnit));
    SmallVector<Value> worker = evaluate("worker", formulas.getWorker(), {{"unit", unit}});
    return {values[0], values[1], worker.front(), sequence};
  }

  Value numVisits() override { return totalOf(SequenceFirstVisit); }

  Value firstVisitOf(const ItemValues &item) override {
    return b.add(numberOf(item.sequence, SequenceFirstVisit), b.mul(item.kv, qTiles));
  }

  void writeVisits() override {
    auto write = [&](Value index) {
      Value sequence = find(SequenceFirstVisit, index);
      enter(sequence);
      Value ofSequence = b.sub(index, numberOf(sequence, SequenceFirstVisit));
      writeVisitOfLine(index, b.quotient(ofSequence, qTiles), b.remainder(ofSequence, qTiles));
    };
    forEachOfGrid([&] { return numVisits(); }, write);
  }

  /// Which sequence has a q tile, for entries whose blocks have one each.
  void writeRest() override {
    Value last = totalOf(SequenceFirstQTile);
    auto write = [&](Value tile) {
      Value owner = b.toI32(find(SequenceFirstQTile, tile));
      Value isTile = b.below(tile, last);
      b.store(b.choose(isTile, owner, b.i32(-1)), wordAt(b.add(firstOwner, tile)), 4);
    };
    forEachOfGrid([&] { return size("q_tiles"); }, write);
  }

  Value firstOwner; ///< a word
};

} // namespace

void dash::buildOrderOfList(const Kernels &kernels, FormulasAttr formulas) {
  ListOrderBuilder(kernels, formulas).build();
}
