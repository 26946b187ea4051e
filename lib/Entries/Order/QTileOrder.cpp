//===- QTileOrder.cpp - the order of items that own q tiles ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group is a query head of a sequence, or a piece of its keys for that head. An item walks kv
// tiles of one kv head, and nothing that it adds has turns.
//
//===----------------------------------------------------------------------===//

#include "OrderBuilder.h"

using namespace mlir;
using namespace mlir::dash;

Value OrderBuilder::numBefore(Value piece, Value q) {
  Value tile = b.mul(piece, kernels.rowsOfPiece() / kernels.kvTile());
  return LineEmitter(b, kernels.edges(), offset).activeKv(q, b.min(tile, kvTiles)).size;
}

SmallVector<Value> OrderBuilder::wordsOfQItem(const ItemValues &item) {
  Value head = b.remainder(item.group, ownHeads), piece, pieceHead;
  Value sequence = item.sequence;
  if (pieces) { // heads of a piece follow each other
    Value ofSequence = b.mul(ownHeads, pieces);
    pieceHead = b.remainder(item.group, ofSequence);
    piece = b.quotient(pieceHead, ownHeads);
    sequence = sequence ? sequence : b.quotient(item.group, ofSequence);
  } else if (!sequence) {
    sequence = b.quotient(item.group, ownHeads);
  }
  Value rounds = b.i64(1), last = pieceHead ? pieceHead : b.i64(0);
  Value walkedHead = b.quotient(head, groupSize), first = firstVisitOf(item);
  if (!piece)
    return {sequence, head, item.tile, walkedHead, first, activeKv(item.tile).size, rounds, last};
  // Visits go upward, so those of a piece follow each other.
  Value before = numBefore(piece, item.tile), end = numBefore(b.add(piece, 1), item.tile);
  return {sequence,           head,   item.tile, walkedHead, b.add(first, before),
          b.sub(end, before), rounds, last};
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
