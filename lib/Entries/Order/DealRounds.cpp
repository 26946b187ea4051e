//===- DealRounds.cpp - the entry that deals items by work ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each item goes to the worker that is free first. One after the other that would take longer than
// it gains, so a round deals as many items at once as come out the same. A worker's key is the time
// at which it is free, and its number in the low bits, so keys are in the order of workers, and
// equal times are no case of their own. Let workers be sorted by their keys, and let prices not
// fall from the next item on. The j-th worker then takes the j-th item if its key is below that of
// the first one behind the first item: all that have taken an item in between are later still.
//
// Keys wrap around. They differ by less than half of their range, because no worker is ahead of
// another by more than an item, so the sign of a difference compares them.
//
// `NAME_prepare` needs nothing of this. So it runs beside this entry, and its last block waits.
//
// Items are taken into shared memory some thousand at a time, as prices with the number of the run
// of prices that do not fall. What a round deals is written down as a worker and a place in its
// list. At the end it is known where lists begin, and items are copied there.
//
//===----------------------------------------------------------------------===//

#include "DealRounds.h"
#include "dash/Entries/Parameters.h"
#include "dash/Entries/Regions.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/OrderBuffer.h"
#include "dash/IR/TargetDescription.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

constexpr int64_t numThreads = 1024, numWarps = numThreads / threadsOfWarp;
constexpr int64_t itemsOfThread = 4, itemsOfChunk = itemsOfThread * numThreads;
constexpr int64_t lanesOfRank = 4; ///< that compare a worker's key with those of others
// A key: the time in front, then the worker. An item: its run in front, then its price.
constexpr int64_t workerBits = 10, priceBits = 19;
static_assert(DealAttr::maxWorkers == int64_t(1) << workerBits);
static_assert(DealAttr::maxWorkers == numThreads, "a thread has a worker");
static_assert(DealAttr::maxPrice == (int64_t(1) << priceBits) - 1);
constexpr int64_t laterThanAny = int64_t(1) << 30;
static_assert((DealAttr::maxPrice << workerBits) < laterThanAny);

// Shared memory, in bytes.
constexpr int64_t keysAt = 0, sortedAt = keysAt + 4 * numThreads,
                  countsAt = sortedAt + 4 * numThreads, itemsAt = countsAt + 4 * numThreads,
                  sumsAt = itemsAt + 4 * itemsOfChunk, nextAt = sumsAt + 4 * numWarps,
                  sharedBytes = nextAt + 16;

class DealBuilder {
public:
  DealBuilder(const Kernels &kernels, DealAttr prices)
      : prices(prices), b(makeEntry(kernels)), issued(b.parameter("workspace.issue")),
        order(b.parameter("workspace.order")) {}

  void build() {
    hopper::letNextLaunchBegin(b); // one block leaves room for all of `NAME_prepare`
    thread = b.special("tid.x");
    lane = b.laneOf(thread);
    warp = b.warpOf(thread);
    workers = b.parameter("workers");
    base = b.sharedBase();
    numItems = header(OrderItems);
    owners = b.offset(issued, b.mul(b.toI64(numItems), 4 * orderItemWords));
    storeShared(b.choose(b.below(thread, workers), thread, b.i32(laterThanAny)), keysAt, thread);
    storeShared(b.i32(0), countsAt, thread);
    b.forEach(b.i32(0), numItems, b.i32(itemsOfChunk), ValueRange{},
              [&](Value first, ValueRange) -> SmallVector<Value> {
                dealChunk(first);
                return {};
              });
    b.syncBlock();
    writeLists();
    b.syncBlock();
    copyItems();
    b.finish();
  }

private:
  static EntryBuilder makeEntry(const Kernels &kernels) {
    EntryLaunch launch;
    launch.role = EntryRole::Deal;
    launch.threads = numThreads;
    launch.sharedBytes = sharedBytes;
    return EntryBuilder(
        kernels.module->getLoc(), kernels.module, kernels.entryName(launch.role), launch,
        ParameterList().workspace("order").workspace(issueRegion).sizes({"workers"}));
  }

  Value header(OrderHeader word) { return hopper::loadWordGlobal(b, order, 4 * word); }
  Value sharedWord(int64_t at, Value index) { return b.add(b.add(base, at), b.mul(index, 4)); }
  Value loadShared(int64_t at, Value index) { return hopper::loadWord(b, sharedWord(at, index)); }
  void storeShared(Value word, int64_t at, Value index) {
    hopper::storeWord(b, word, sharedWord(at, index));
  }
  Value recordAt(Value item) { return b.offset(issued, b.mul(b.toI64(item), 4 * orderItemWords)); }
  Value ownerAt(Value item) { return b.offset(owners, b.mul(b.toI64(item), 8)); }

  Value priceOf(Value item) {
    constexpr int64_t visits = 5, rounds = 6; // words of a record
    Value record = recordAt(item);
    Value tasks = b.mul(hopper::loadWordGlobal(b, record, 4 * visits),
                        hopper::loadWordGlobal(b, record, 4 * rounds));
    Value most = b.i32(DealAttr::maxPrice), price = b.toI64(b.min(tasks, most));
    price = b.add(b.mul(price, prices.getTask()), prices.getBoundary());
    return b.toI32(b.min(price, b.toI64(most)));
  }

  /// The prices of items [first, end), each with its run.
  void readChunk(Value first, Value end) {
    Value begin = b.add(first, b.mul(warp, itemsOfThread * threadsOfWarp));
    SmallVector<Value> items, found;
    Value last = b.add(end, -1);
    for (int64_t k = 0; k < itemsOfThread; ++k) {
      items.push_back(b.add(b.add(begin, k * threadsOfWarp), lane));
      found.push_back(priceOf(b.min(items.back(), last)));
    }
    for (auto [item, price] : llvm::zip_equal(items, found))
      storeShared(price, itemsAt, b.sub(item, first));
    b.syncBlock();
    Value lanesUpTo = b.bitOr(b.add(b.shiftLeft(b.i32(1), lane), -1), b.shiftLeft(b.i32(1), lane));
    Value ofWarp = b.i32(0);
    SmallVector<Value> runs;
    for (auto [item, price] : llvm::zip_equal(items, found)) {
      Value place = b.sub(item, first);
      Value before = loadShared(itemsAt, b.max(b.add(place, -1), b.i32(0)));
      Value mask = b.ballot(b.below(price, before));
      Value upTo = arith::AndIOp::create(b, mask, lanesUpTo);
      runs.push_back(b.add(ofWarp, b.countBits(upTo)));
      ofWarp = b.add(ofWarp, b.countBits(mask));
    }
    b.inOneLane(lane, [&] { storeShared(ofWarp, sumsAt, warp); });
    b.syncBlock();
    Value other = loadShared(sumsAt, lane);
    Value before = b.sumOverWarp(b.choose(b.below(lane, warp), other, b.i32(0)));
    for (auto [item, price, run] : llvm::zip_equal(items, found, runs))
      storeShared(b.bitOr(b.shiftLeft(b.add(before, run), priceBits), price), itemsAt,
                  b.sub(item, first));
    b.syncBlock();
  }

  void dealChunk(Value first) {
    Value end = b.min(b.add(first, itemsOfChunk), numItems);
    b.syncBlock(); // no thread reads the chunk before
    readChunk(first, end);
    auto loop = scf::WhileOp::create(b, TypeRange{first.getType()}, ValueRange{first});
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, {first.getType()}, {b.getLoc()});
    scf::ConditionOp::create(b, b.below(before->getArgument(0), end), before->getArguments());
    Block *after = b.createBlock(&loop.getAfter(), {}, {first.getType()}, {b.getLoc()});
    sortWorkers();
    b.syncBlock();
    dealRound(first, after->getArgument(0), end);
    b.syncBlock();
    scf::YieldOp::create(b, loadShared(nextAt, b.i32(0)));
  }

  /// Some lanes compare a worker's key with those of the others, a part each: the number of lower
  /// ones is its place.
  void sortWorkers() {
    Value part = b.bitAnd(thread, lanesOfRank - 1);
    Value numParallel = b.i32(numThreads / lanesOfRank);
    b.forEach(b.quotient(thread, lanesOfRank),
              b.mul(b.add(b.quotient(b.add(workers, -1), numThreads / lanesOfRank), 1),
                    numThreads / lanesOfRank), // as often for all threads: lanes meet below
              numParallel, ValueRange{}, [&](Value worker, ValueRange) -> SmallVector<Value> {
                Value key = loadShared(keysAt, b.min(worker, b.add(workers, -1)));
                Value rank =
                    b.forEach(b.mul(part, 4), workers, b.i32(4 * lanesOfRank), ValueRange{b.i32(0)},
                              [&](Value other, ValueRange carried) -> SmallVector<Value> {
                                return {b.add(carried[0], countLower(other, key))};
                              })
                        .front();
                for (int64_t distance = 1; distance < lanesOfRank; distance *= 2)
                  rank = b.add(rank, b.shuffleXor(rank, distance));
                b.ifThen(b.both(b.equal(part, 0), b.below(worker, workers)),
                         [&] { storeShared(key, sortedAt, rank); });
                return {};
              });
  }

  /// How many of four keys are below this one. Behind the last worker's are some that never are.
  Value countLower(Value other, Value key) {
    Value lower;
    for (Value theirs : b.loadVector(b.getI32Type(), 4, b.shared(sharedWord(keysAt, other)))) {
      Value is = b.shiftRight(b.sub(theirs, key), 31);
      lower = lower ? b.add(lower, is) : is;
    }
    return lower;
  }

  struct Dealt {
    Value is, item, key, price;
  };
  /// Whether the worker of this rank takes an item in a round that begins with item `next`.
  Dealt dealtTo(Value rank, Value first, Value next, Value end) {
    Value item = b.add(next, rank);
    Value lowest = loadShared(sortedAt, b.i32(0));
    Value key = loadShared(sortedAt, b.min(rank, b.add(workers, -1)));
    Value ofNext = loadShared(itemsAt, b.sub(next, first));
    Value own = loadShared(itemsAt, b.sub(b.min(item, b.add(end, -1)), first));
    Value limit = b.add(lowest, b.shiftLeft(b.bitAnd(ofNext, DealAttr::maxPrice), workerBits));
    Value isSameRun = b.compare(arith::CmpIPredicate::eq, b.shiftRight(ofNext, priceBits),
                                b.shiftRight(own, priceBits));
    Value is = b.both(b.below(b.sub(key, limit), 0), isSameRun);
    is = b.choose(b.equal(rank, 0), b.i1(true), is);
    is = b.both(is, b.both(b.below(rank, workers), b.below(item, end)));
    return {is, item, key, b.bitAnd(own, DealAttr::maxPrice)};
  }

  void dealRound(Value first, Value next, Value end) {
    Dealt mine = dealtTo(thread, first, next, end);
    Dealt after = dealtTo(b.add(thread, 1), first, next, end);
    b.ifThen(mine.is, [&] {
      Value worker = b.bitAnd(mine.key, DealAttr::maxWorkers - 1);
      storeShared(b.add(mine.key, b.shiftLeft(mine.price, workerBits)), keysAt, worker);
      Value place = loadShared(countsAt, worker);
      storeShared(b.add(place, 1), countsAt, worker);
      b.storeVector({worker, place}, ownerAt(mine.item));
      b.ifThen(b.bitXor(after.is, b.i1(true)),
               [&] { storeShared(b.add(mine.item, 1), nextAt, b.i32(0)); });
    });
    // Keys behind the last worker's stay later than any, whatever the time is.
    b.ifThen(b.below(b.add(workers, -1), thread), [&] {
      Value lowest = loadShared(sortedAt, b.i32(0));
      storeShared(b.add(lowest, laterThanAny), keysAt, thread);
    });
  }

  /// Where lists begin, for the main kernel and for the items.
  void writeLists() {
    b.ifThen(b.below(thread, workers), [&] {
      Value begin = b.forEach(b.i32(0), thread, b.i32(1), ValueRange{b.i32(0)},
                              [&](Value other, ValueRange carried) -> SmallVector<Value> {
                                return {b.add(carried[0], loadShared(countsAt, other))};
                              })
                        .front();
      storeShared(begin, sortedAt, thread);
      Value word = b.toI64(b.add(header(OrderFirstList), thread));
      b.store(begin, b.offset(order, b.mul(word, 4)), 4);
    });
  }

  void copyItems() {
    Value firstItem = header(OrderFirstItem);
    b.forEach(thread, numItems, b.i32(numThreads), ValueRange{},
              [&](Value item, ValueRange) -> SmallVector<Value> {
                Value record = recordAt(item), owner = ownerAt(item);
                SmallVector<Value> words = hopper::loadWords4Global(b, record, 0);
                llvm::append_range(words, hopper::loadWords4Global(b, record, 16));
                Value begin = loadShared(sortedAt, hopper::loadWordGlobal(b, owner, 0));
                Value place = b.add(begin, hopper::loadWordGlobal(b, owner, 4));
                Value word = b.add(b.toI64(firstItem), b.mul(b.toI64(place), orderItemWords));
                Value to = b.offset(order, b.mul(word, 4));
                for (int64_t i = 0; i < orderItemWords; i += 4)
                  b.store16(ArrayRef(words).slice(i, 4), b.offset(to, 4 * i));
                return {};
              });
  }

  DealAttr prices;
  EntryBuilder b;
  Value issued, order, owners; ///< pointers
  Value thread, lane, warp, workers, base, numItems;
};

} // namespace

void dash::buildDeal(const Kernels &kernels, DealAttr prices) {
  DealBuilder(kernels, prices).build();
}
