//===- ListOrder.cpp - formulas over a list of sequences ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each sequence is ordered separately. Formulas see its tiles and heads only, so its bits do not
// depend on other sequences. The workers of its items do: units follow those of the sequence
// before. Where items own q tiles, workers are numbered on from the last unit instead: units that
// are dealt back and forth pair long items with short ones, as long as the first goes to the first
// worker. A binary search finds sequences by their records, which ascend in each number.
//
// No two sequences share a chain, and each list has the items of one sequence before those of the
// next. So only waits within one sequence could form a cycle. Its lists are those of its own order,
// with workers numbered from an offset.
//
// Items of forwards may be drawn while the main kernel runs, and those of gradients may be dealt by
// their work. Then they have one list, without units: sequences with more rows to walk come first,
// each in the order of its items. Another entry deals it (DealRounds.cpp).
//
//===----------------------------------------------------------------------===//

#include "OrderBuilder.h"
#include "dash/Entries/Regions.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/OrderBuffer.h"

using namespace mlir;
using namespace mlir::dash;
using arith::CmpIPredicate;

namespace {

class ListOrderBuilder : public OrderBuilder {
public:
  ListOrderBuilder(const Kernels &kernels, FormulasAttr formulas)
      : OrderBuilder(kernels, formulas, makeLaunch(), parametersOf(kernels)) {}

private:
  static ParameterList parametersOf(const Kernels &kernels) {
    ParameterList parameters;
    parameters.workspace("order");
    if (kernels.dealsByWork())
      parameters.workspace(issueRegion);
    return parameters.sizes({"heads", "kv_heads", "sequences", "q_tiles", "workers", "width"});
  }
  static EntryLaunch makeLaunch() {
    EntryLaunch launch = OrderBuilder::makeLaunch();
    launch.when = EntryWhen::Always;
    return launch;
  }

  void readSizes() override {
    readSizesOfAll();
    halvings = countHalvings();
    groups = ownHeads; // one sequence at a time
    numItems = b.mul(ownHeads, totalOf(firstItemOfHead()));
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
  /// After the last sequence stand the totals.
  Value totalOf(int64_t word) { return numberOf(numSequences, word); }

  /// The sequence that contains tile, or visit, number `value`: the last one that begins at or
  /// before it. An empty sequence begins at the same number as the one after it; the latter is
  /// taken.
  Value find(int64_t word, Value value) {
    SmallVector<Value> found = b.forEach(
        b.i32(0), halvings, b.i32(1), ValueRange{b.i64(0), numSequences},
        [&](Value, ValueRange range) -> SmallVector<Value> {
          Value middle = b.shiftRight(b.add(range[0], range[1]), 1);
          Value isBehind = b.compare(CmpIPredicate::sle, numberOf(middle, word), value);
          return {b.choose(isBehind, middle, range[0]), b.choose(isBehind, range[1], middle)};
        });
    return found[0];
  }

  /// The word of a record that numbers the tiles that items own.
  int64_t firstOwnTile() const { return ownsQ() ? SequenceFirstQTile : SequenceFirstKvTile; }

  /// The word that numbers a head's items: tiles, or tiles of pieces of the keys.
  int64_t firstItemOfHead() const {
    return kernels.rowsOfPiece() ? int64_t(SequenceFirstItem) : firstOwnTile();
  }

  /// The bits of the number of sequences: so many halvings leave one of them.
  Value countHalvings() {
    Value bits = b.toI32(numSequences);
    for (int64_t distance : {1, 2, 4, 8}) // at most 2^16 - 1 sequences
      bits = b.bitOr(bits, b.shiftRight(bits, distance));
    return b.countBits(bits);
  }

  /// Sets the sizes that formulas see to those of a sequence.
  void enter(Value sequence) {
    Value qRows = numberOf(sequence, SequenceQRows), kvRows = numberOf(sequence, SequenceKvRows);
    qTiles = b.ceilDiv(qRows, kernels.qTile());
    kvTiles = b.ceilDiv(kvRows, kernels.kvTile());
    offset = b.sub(kvRows, qRows);
    if (kernels.rowsOfPiece()) {
      pieces = b.ceilDiv(kvRows, kernels.rowsOfPiece());
      groups = b.mul(ownHeads, pieces);
    }
    nameSizes();
  }

  ItemValues itemAt(Value i) override {
    Value sequence = find(firstItemOfHead(), b.quotient(i, ownHeads));
    enter(sequence);
    Value first = b.mul(numberOf(sequence, firstItemOfHead()), ownHeads);
    SmallVector<Value> values = evaluate("item", formulas.getItem(), {{"i", b.sub(i, first)}});
    Value unit = values[2], firstUnit = numberOf(sequence, SequenceFirstUnit);
    if (!ownsQ())
      unit = b.add(unit, firstUnit);
    Value worker = evaluate("worker", formulas.getWorker(), {{"unit", unit}}).front();
    if (ownsQ())
      worker = b.remainder(b.add(worker, firstUnit), workers);
    return {values[0], values[1], worker, sequence};
  }

  Value numVisits() override { return totalOf(SequenceFirstVisit); }

  Value firstVisitOf(const ItemValues &item) override {
    return b.add(numberOf(item.sequence, SequenceFirstVisit), OrderBuilder::firstVisitOf(item));
  }

  void writeLists() override {
    if (!kernels.handsOut() && !kernels.dealsByWork())
      return OrderBuilder::writeLists();
    writeHeader(kernels.handsOut() ? b.i64(1) : workers);
    writeOneList();
  }

  /// Sequences with more rows to walk come first: what is left at the end are short items. A block
  /// takes a sequence, or some blocks share one if there are fewer.
  void writeOneList() {
    Value self = b.toI64(block), first = b.remainder(self, numSequences);
    Value sharing = b.max(b.quotient(workers, numSequences), b.i64(1));
    Value share = b.quotient(self, numSequences);
    Value end = b.choose(b.below(share, sharing), numSequences, b.i64(0));
    b.forEach(first, end, workers, ValueRange{},
              [&](Value sequence, ValueRange) -> SmallVector<Value> {
                writeSequence(sequence, share, sharing);
                return {};
              });
  }

  void writeSequence(Value sequence, Value share, Value sharing) {
    Value firstOfAll = b.mul(countTilesBefore(sequence), ownHeads);
    enter(sequence);
    Value begin = b.add(b.mul(share, numBlockThreads), b.toI64(thread));
    b.forEach(begin, b.mul(ownTiles(), ownHeads), b.mul(sharing, numBlockThreads), ValueRange{},
              [&](Value i, ValueRange) -> SmallVector<Value> {
                SmallVector<Value> values = evaluate("item", formulas.getItem(), {{"i", i}});
                ItemValues item{values[0], values[1], Value(), sequence};
                writeItem(item, b.toI32(b.add(firstOfAll, i)));
                return {};
              });
  }

  int64_t rowsOfWalked() const { return ownsQ() ? SequenceKvRows : SequenceQRows; }
  int64_t rowsOfOwn() const { return ownsQ() ? SequenceQRows : SequenceKvRows; }

  /// The own tiles of sequences with more rows to walk, and of earlier ones with as many. Each
  /// thread looks at some sequences.
  Value countTilesBefore(Value sequence) {
    int64_t ownTile = ownsQ() ? kernels.qTile() : kernels.kvTile();
    Value rows = numberOf(sequence, rowsOfWalked());
    SmallVector<Value> counted =
        b.forEach(b.toI64(thread), numSequences, numBlockThreads, ValueRange{b.i32(0)},
                  [&](Value other, ValueRange carried) -> SmallVector<Value> {
                    Value theirs = numberOf(other, rowsOfWalked());
                    Value isBefore = b.choose(b.compare(CmpIPredicate::eq, theirs, rows),
                                              b.below(other, sequence), b.below(rows, theirs));
                    Value tiles = b.toI32(b.ceilDiv(numberOf(other, rowsOfOwn()), ownTile));
                    return {b.add(carried[0], b.choose(isBefore, tiles, b.i32(0)))};
                  });
    return b.toI64(sumOverWarps(b.sumOverWarp(counted[0])).first);
  }

  void writeVisits() override {
    auto write = [&](Value index) {
      Value sequence = find(SequenceFirstVisit, index);
      enter(sequence);
      Value ofSequence = b.sub(index, numberOf(sequence, SequenceFirstVisit));
      Value own = b.quotient(ofSequence, walkedTiles());
      writeVisitOfLine(index, own, b.remainder(ofSequence, walkedTiles()));
    };
    forEachOfGrid([&] { return numVisits(); }, write);
  }

  /// Writes the sequence of each q tile, for entries with one q tile in each block.
  void writeRest() override {
    Value last = totalOf(SequenceFirstQTile);
    auto write = [&](Value tile) {
      Value owner = b.toI32(find(SequenceFirstQTile, tile));
      Value isTile = b.below(tile, last);
      b.store(b.choose(isTile, owner, b.i32(-1)), wordAt(b.add(firstOwner, tile)), 4);
    };
    forEachOfGrid([&] { return size("q_tiles"); }, write);
  }

  Value halvings;   ///< of a search
  Value firstOwner; ///< a word
};

} // namespace

void dash::buildOrderOfList(const Kernels &kernels, FormulasAttr formulas) {
  ListOrderBuilder(kernels, formulas).build();
}
