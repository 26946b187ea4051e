//===- QTileOrder.cpp - the order of items that own q tiles ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group is a query head of a sequence. An item walks kv tiles of one kv head, and nothing that it
// adds has turns.
//
//===----------------------------------------------------------------------===//

#include "OrderBuilder.h"

using namespace mlir;
using namespace mlir::dash;

SmallVector<Value> OrderBuilder::wordsOfQItem(const ItemValues &item) {
  Value head = b.remainder(item.group, ownHeads);
  Value sequence = item.sequence ? item.sequence : b.quotient(item.group, ownHeads);
  Value rounds = b.i64(1), partTurn = b.i64(0);
  return {sequence,
          head,
          item.tile,
          b.quotient(head, groupSize),
          firstVisitOf(item),
          activeKv(item.tile).size,
          rounds,
          partTurn};
}

void OrderBuilder::writeVisitOfQ(Value index, Value q, Value step) {
  auto [first, count, last] = activeKv(q);
  if (!last)
    last = b.add(b.add(first, count), -1);
  Value kv = evaluate("visit", formulas.getVisit(),
                      {{"q", q}, {"step", step}, {"first", first}, {"last", last}})
                 .front();
  storeVisit(index, kv, b.i64(0), b.i32(0));
}
