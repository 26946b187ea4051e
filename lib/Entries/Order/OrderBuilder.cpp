//===- OrderBuilder.cpp - the entry that evaluates formulas ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OrderBuilder.h"
#include "FormulaEmitter.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/OrderBuffer.h"
#include "dash/IR/RunsAttr.h"
#include "dash/IR/TargetDescription.h"

using namespace mlir;
using namespace mlir::dash;
using arith::CmpIPredicate;

constexpr int64_t numThreads = 512, numWarps = numThreads / threadsOfWarp;

EntryLaunch OrderBuilder::makeLaunch() {
  EntryLaunch launch;
  launch.role = EntryRole::Order;
  launch.when = EntryWhen::SizesChange;
  launch.grid[0] = "workers";
  launch.threads = numThreads;
  launch.sharedBytes = 4 * numWarps;
  return launch;
}

OrderBuilder::OrderBuilder(const Kernels &kernels, FormulasAttr formulas)
    : OrderBuilder(kernels, formulas, makeLaunch(),
                   ParameterList().workspace("order").sizes(
                       {"batch", "heads", "kv_heads", "q_rows", "kv_rows", "workers", "width"})) {}

OrderBuilder::OrderBuilder(const Kernels &kernels, FormulasAttr formulas, const EntryLaunch &launch,
                           const ParameterList &parameters)
    : kernels(kernels), formulas(formulas), hasRuns(kernels.module->hasAttr(runsAttr)),
      b(kernels.module->getLoc(), kernels.module, kernels.entryName(EntryRole::Order), launch,
        parameters) {}

void OrderBuilder::build() {
  readThreads();
  readSizes();
  writeLists();
  writeVisits();
  writeRest();
  b.finish();
}

void OrderBuilder::readThreads() {
  thread = b.special("tid.x");
  block = b.special("ctaid.x");
  numBlockThreads = b.toI64(b.special("ntid.x"));
  lane = b.laneOf(thread);
  warp = b.warpOf(thread);
  shared = b.sharedBase();
}

/// Sizes are 64 bits wide here, like everywhere else where formulas are evaluated.
void OrderBuilder::readSizesOfAll() {
  kvHeads = size("kv_heads");
  workers = size("workers");
  width = size("width");
  numSequences = kernels.isList() ? size("sequences") : b.i64(0);
  Value heads = size("heads");
  if (kernels.fold() > 1) // as items count them
    heads = b.quotient(heads, kernels.fold());
  groupSize = b.quotient(heads, kvHeads);
  ownHeads = ownsQ() ? heads : kvHeads;
}

void OrderBuilder::readSizes() {
  Value qRows = size("q_rows"), kvRows = size("kv_rows");
  readSizesOfAll();
  qTiles = b.ceilDiv(qRows, kernels.qTile());
  kvTiles = b.ceilDiv(kvRows, kernels.kvTile());
  groups = b.mul(size("batch"), ownHeads);
  if (kernels.parts() > 1) { // items are of parts, the fastest index
    groups = b.mul(groups, kernels.parts());
    if (hasRuns) {
      runs = b.quotient(b.mul(kvHeads, kernels.parts()), size("heads"));
      groupSize = b.i64(1); // size of a part
    } else {
      groupSize = b.quotient(groupSize, kernels.parts());
    }
  }
  if (kernels.rowsOfPiece()) {
    pieces = b.ceilDiv(kvRows, kernels.rowsOfPiece());
    groups = b.mul(groups, pieces);
  }
  numItems = b.mul(groups, ownTiles());
  offset = b.sub(kvRows, qRows);
  nameSizes();
  firstItem = b.add(workers, orderHeaderWords + 1 + orderItemWords - 1);
  firstItem = b.bitAnd(firstItem, -orderItemWords);
  firstVisit = b.add(firstItem, b.mul(numItems, orderItemWords));
  firstList = b.i64(orderHeaderWords);
}

void OrderBuilder::nameSizes() {
  symbols["q_tiles"] = qTiles;
  symbols["kv_tiles"] = kvTiles;
  symbols["groups"] = groups;
  symbols["width"] = width;
  symbols["workers"] = workers;
  symbols["offset"] = offset;
}

SmallVector<Value> OrderBuilder::evaluate(StringRef name, ArrayRef<FormulaPiece> pieces,
                                          Inputs inputs) {
  for (auto [input, value] : inputs)
    symbols[input] = value;
  const FormulaSignature &signature = getFormulaSignature(name, formulas.getOwn());
  SmallVector<Value> values;
  for (unsigned symbol = 0; symbol < signature.getNumSymbols(); ++symbol)
    values.push_back(symbols.lookup(signature.getName(symbol)));
  return FormulaEmitter(b, values).emit(pieces);
}

ItemValues OrderBuilder::itemAt(Value i) {
  SmallVector<Value> values = evaluate("item", formulas.getItem(), {{"i", i}});
  SmallVector<Value> worker = evaluate("worker", formulas.getWorker(), {{"unit", values[2]}});
  return {values[0], values[1], worker.front(), Value()};
}

std::pair<Value, Value> OrderBuilder::sumOverWarps(Value ofWarp) {
  Value place = b.add(shared, b.mul(warp, 4));
  b.inOneLane(lane, [&] { hopper::storeWord(b, ofWarp, place); });
  b.syncBlock();
  Value isWarp = b.below(lane, numWarps);
  Value other = b.choose(isWarp, lane, b.i32(0));
  Value count = hopper::loadWord(b, b.add(shared, b.mul(other, 4)));
  count = b.choose(isWarp, count, b.i32(0));
  Value before = b.choose(b.below(lane, warp), count, b.i32(0));
  Value sumBefore = b.sumOverWarp(before), sum = b.sumOverWarp(count);
  b.syncBlock();
  return {sum, sumBefore};
}

/// The number of items of the workers before this one: each thread counts some.
Value OrderBuilder::countItemsBefore() {
  Value worker = b.toI64(block);
  SmallVector<Value> counted =
      b.forEach(b.toI64(thread), numItems, numBlockThreads, ValueRange{b.i32(0)},
                [&](Value i, ValueRange carried) -> SmallVector<Value> {
                  Value isBefore = b.below(itemAt(i).worker, worker);
                  return {b.add(carried[0], b.choose(isBefore, b.i32(1), b.i32(0)))};
                });
  return sumOverWarps(b.sumOverWarp(counted[0])).first;
}

Value OrderBuilder::wordAt(Value index) {
  return b.offset(b.parameter("workspace.order"), b.mul(index, 4));
}
void OrderBuilder::storeWords(ArrayRef<Value> words, Value index) {
  for (size_t i = 0; i < words.size(); i += 4)
    b.store16(words.slice(i, 4), wordAt(b.add(index, i)));
}

void OrderBuilder::writeHeader(Value numLists) {
  b.ifThen(b.both(b.equal(thread, 0), b.equal(block, 0)), [&] {
    storeWords({b.i32(orderVersion), b.toI32(numLists), b.toI32(numItems), b.toI32(firstList),
                b.toI32(firstItem), b.toI32(firstVisit), b.toI32(numVisits()),
                b.toI32(numSequences)},
               b.i64(0));
    b.store(b.i32(0), wordAt(firstList), 4);
    b.store(b.toI32(numItems), wordAt(b.add(numLists, firstList)), 4);
  });
}

void OrderBuilder::writeFirstOfList(Value firstOfList) {
  b.ifThen(b.equal(thread, 0),
           [&] { b.store(firstOfList, wordAt(b.add(b.toI64(block), firstList)), 4); });
}

void OrderBuilder::writeLists() {
  writeHeader(workers);
  Value firstOfList = countItemsBefore();
  writeFirstOfList(firstOfList);
  writeItems(firstOfList);
}

void OrderBuilder::writeItems(Value firstOfList) {
  Value self = b.toI64(block), lastItem = b.add(numItems, -1);
  Value lanesBefore = b.add(b.shiftLeft(b.i32(1), lane), -1);
  b.forEach(b.i64(0), numItems, numBlockThreads, ValueRange{firstOfList},
            [&](Value begin, ValueRange carried) -> SmallVector<Value> {
              Value i = b.add(begin, b.toI64(thread));
              ItemValues item = itemAt(b.min(i, lastItem));
              Value isMine =
                  b.both(b.below(i, numItems), b.compare(CmpIPredicate::eq, item.worker, self));
              Value mask = b.ballot(isMine);
              auto [sum, sumBefore] = sumOverWarps(b.countBits(mask));
              Value place = b.countBits(b.both(mask, lanesBefore));
              place = b.add(b.add(place, carried[0]), sumBefore);
              b.ifThen(isMine, [&] { writeItem(item, place); });
              return {b.add(carried[0], sum)};
            });
}

void OrderBuilder::writeItem(const ItemValues &item, Value place) {
  SmallVector<Value> words = ownsQ() ? wordsOfQItem(item) : wordsOfKvItem(item);
  for (Value &word : words)
    word = b.toI32(word);
  if (!kernels.dealsByWork())
    return storeWords(words, b.add(firstItem, b.mul(b.toI64(place), orderItemWords)));
  Value record =
      b.offset(b.parameter("workspace.issue"), b.mul(b.toI64(place), 4 * int64_t(orderItemWords)));
  for (size_t i = 0; i < words.size(); i += 4)
    b.store16(ArrayRef(words).slice(i, 4), b.offset(record, 4 * i));
}

SmallVector<Value> OrderBuilder::wordsOfKvItem(const ItemValues &item) {
  // Index of kv head and part together: heads of one such run follow each other.
  Value run = item.group, part = b.i64(0);
  if (kernels.parts() > 1) {
    part = b.remainder(item.group, kernels.parts());
    run = b.quotient(item.group, kernels.parts());
  }
  Value sequence = item.sequence ? item.sequence : b.quotient(run, kvHeads);
  Value kvHead = b.remainder(run, kvHeads), heads = kvHead;
  if (kernels.parts() > 1)
    heads = b.add(b.mul(kvHead, kernels.parts()), part);
  Value firstHead, first, count;
  if (runs) {
    auto [begin, end] = stepsOf(b.remainder(part, runs));
    firstHead = b.quotient(heads, runs);
    first = b.add(firstVisitOf(item), begin);
    count = b.sub(end, begin);
  } else {
    firstHead = b.mul(heads, groupSize);
    first = firstVisitOf(item);
    count = activeQ(item.tile).size;
  }
  return {sequence, kvHead, item.tile, firstHead, first, count, groupSize, part};
}

//===--------------------------------------------------------------------===//
// Lines of tiles
//===--------------------------------------------------------------------===//

void OrderBuilder::forEachOfGrid(llvm::function_ref<Value()> makeEnd,
                                 llvm::function_ref<void(Value)> body) {
  Value first = b.add(b.mul(b.toI64(block), numBlockThreads), b.toI64(thread)), end = makeEnd();
  b.forEach(first, end, b.mul(workers, numBlockThreads), ValueRange{},
            [&](Value index, ValueRange) -> SmallVector<Value> {
              body(index);
              return {};
            });
}

Value OrderBuilder::numVisits() { return b.mul(qTiles, kvTiles); }

Value OrderBuilder::firstVisitOf(const ItemValues &item) { return b.mul(item.tile, walkedTiles()); }

void OrderBuilder::writeVisits() {
  forEachOfGrid([&] { return b.mul(ownTiles(), walkedTiles()); },
                [&](Value index) {
                  Value own = b.quotient(index, walkedTiles());
                  writeVisitOfLine(index, own, b.remainder(index, walkedTiles()));
                });
}

/// The rest of a line is never read, so it stays as it is.
void OrderBuilder::writeVisitOfLine(Value index, Value own, Value step) {
  if (runs)
    return writeVisitOfRun(index, own, step);
  Value count = ownsQ() ? activeKv(own).size : activeQ(own).size;
  b.ifThen(b.below(step, count), [&] {
    if (ownsQ())
      writeVisitOfQ(index, own, step);
    else
      writeVisitOfKv(index, own, step);
  });
}

void OrderBuilder::writeVisitOfKv(Value index, Value kv, Value step) {
  auto [firstQ, numQ, none] = activeQ(kv);
  Value lastQ = b.add(b.add(firstQ, numQ), -1);
  Value q = evaluate("visit", formulas.getVisit(),
                     {{"kv", kv}, {"step", step}, {"first", firstQ}, {"last", lastQ}})
                .front();
  if (formulas.getTurn().empty())
    return storeVisit(index, q, b.i64(0), b.i32(0));
  auto [firstKv, numKv, lastKv] = activeKv(q);
  if (!lastKv)
    lastKv = b.add(b.add(firstKv, numKv), -1);
  Value turn = evaluate("turn", formulas.getTurn(),
                        {{"kv", kv}, {"q", q}, {"first", firstKv}, {"last", lastKv}})
                   .front();
  storeVisit(index, q, turn, isEnd(turn, numKv));
}

std::pair<Value, Value> OrderBuilder::stepsOf(Value run) {
  return {b.quotient(b.mul(run, qTiles), runs), b.quotient(b.mul(b.add(run, 1), qTiles), runs)};
}

/// No mask cuts a run's grid, and its q tiles count from its first. The runs of a kv tile share its
/// line, one after the other.
void OrderBuilder::writeVisitOfRun(Value index, Value kv, Value step) {
  Value run = b.quotient(b.add(b.mul(b.add(step, 1), runs), -1), qTiles);
  auto [begin, end] = stepsOf(run);
  llvm::StringMap<Value> ofLine = symbols;
  symbols["q_tiles"] = b.sub(end, begin);
  symbols["offset"] = b.add(offset, b.mul(begin, kernels.qTile()));
  Value zero = b.i64(0), lastQ = b.add(symbols["q_tiles"], -1), lastKv = b.add(kvTiles, -1);
  Value ofRun =
      evaluate("visit", formulas.getVisit(),
               {{"kv", kv}, {"step", b.sub(step, begin)}, {"first", zero}, {"last", lastQ}})
          .front();
  Value turn = evaluate("turn", formulas.getTurn(),
                        {{"kv", kv}, {"q", ofRun}, {"first", zero}, {"last", lastKv}})
                   .front();
  symbols = std::move(ofLine);
  storeVisit(index, b.add(begin, ofRun), turn, isEnd(turn, kvTiles));
}

Value OrderBuilder::isEnd(Value turn, Value numKv) {
  return b.choose(b.compare(CmpIPredicate::eq, turn, b.add(numKv, -1)), b.i32(1), b.i32(0));
}

void OrderBuilder::storeVisit(Value index, Value tile, Value turn, Value isLast) {
  storeWords({b.i32(0), b.toI32(tile), b.toI32(turn), isLast},
             b.add(firstVisit, b.mul(index, orderVisitWords)));
}
