//===- OrderReader.cpp - the order, as the main kernel reads it -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WorkerEntry.h"

using namespace mlir;
using namespace mlir::dash;

// Words of the header, and bytes of the records.
static constexpr int64_t listsWord = 3, itemsWord = 4, visitsWord = 5;
static constexpr int64_t itemBytes = 32, visitBytes = 16;

OrderReader::OrderReader(PtxBuilder &b, Value order) {
  auto section = [&](int64_t word) {
    Value first = hopper::loadWordGlobal(b, order, 4 * word);
    return b.offset(order, b.mul(b.toI64(first), 4));
  };
  Value lists = b.offset(section(listsWord), b.mul(b.toI64(b.special("ctaid.x")), 4));
  Value begin = hopper::loadWordGlobal(b, lists, 0), end = hopper::loadWordGlobal(b, lists, 4);
  items = b.offset(section(itemsWord), b.mul(b.toI64(begin), itemBytes));
  visits = section(visitsWord);
  count = b.sub(end, begin);
}

ItemRecord OrderReader::readItem(PtxBuilder &b, Value place) const {
  Value at = b.offset(items, b.mul(b.toI64(place), itemBytes));
  SmallVector<Value> head = hopper::loadWords4Global(b, at, 0);
  SmallVector<Value> tail = hopper::loadWords4Global(b, at, 16);
  ItemRecord item;
  item.sequence = head[0];
  item.kvHead = head[1];
  item.kvTile = head[2];
  item.firstHead = head[3];
  item.firstVisit = tail[0];
  item.visits = tail[1];
  item.rounds = tail[2];
  item.steps = b.mul(tail[1], tail[2]);
  return item;
}

VisitRecord OrderReader::readVisit(PtxBuilder &b, const ItemRecord &item, Value round,
                                   Value visit) const {
  Value index = b.toI64(b.add(item.firstVisit, visit));
  SmallVector<Value> words =
      hopper::loadWords4Global(b, b.offset(visits, b.mul(index, visitBytes)), 0);
  return {b.add(b.add(item.firstHead, words[0]), round), words[1], words[2], words[3]};
}
