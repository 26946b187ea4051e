//===- OrderReader.cpp - the order, as the main kernel reads it -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OrderBuffer.h"
#include "WorkerEntry.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr int64_t itemBytes = 4 * orderItemWords, visitBytes = 4 * orderVisitWords;

/// Where the section begins whose first word the header's word holds.
Value OrderReader::section(PtxBuilder &b, int64_t word) const {
  return b.offset(order, b.mul(b.toI64(hopper::loadWordGlobal(b, order, 4 * word)), 4));
}

/// Two words: the list's first item, and that behind its last.
Value OrderReader::listBounds(PtxBuilder &b) const {
  return b.offset(section(b, OrderFirstList), b.mul(b.toI64(b.special("ctaid.x")), 4));
}

Value OrderReader::readNumItems(PtxBuilder &b) const {
  Value bounds = listBounds(b);
  Value begin = hopper::loadWordGlobal(b, bounds, 0), end = hopper::loadWordGlobal(b, bounds, 4);
  return b.sub(end, begin);
}

ItemRecord OrderReader::readItem(PtxBuilder &b, Value place) const {
  Value index = b.add(hopper::loadWordGlobal(b, listBounds(b), 0), place);
  Value at = b.offset(section(b, OrderFirstItem), b.mul(b.toI64(index), itemBytes));
  SmallVector<Value> head = hopper::loadWords4Global(b, at, 0);
  SmallVector<Value> tail = hopper::loadWords4Global(b, at, 16);
  ItemRecord item;
  item.sequence = head[0];
  item.kvHead = head[1];
  item.kvTile = head[2];
  item.firstHead = head[3];
  item.firstVisit = b.offset(section(b, OrderFirstVisit), b.mul(b.toI64(tail[0]), visitBytes));
  item.visits = tail[1];
  item.rounds = tail[2];
  item.steps = b.mul(tail[1], tail[2]);
  return item;
}

VisitRecord OrderReader::readVisit(PtxBuilder &b, const ItemRecord &item, Value round,
                                   Value visit) const {
  Value at = b.offset(item.firstVisit, b.mul(b.toI64(visit), visitBytes));
  SmallVector<Value> words = hopper::loadWords4Global(b, at, 0);
  return {b.add(b.add(item.firstHead, words[0]), round), words[1], words[2], words[3]};
}
