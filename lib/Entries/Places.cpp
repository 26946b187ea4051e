//===- Places.cpp - where an entry finds tiles and rows ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Entries/Places.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/OrderBuffer.h"
#include "dash/IR/TargetDescription.h"

using namespace mlir;
using namespace mlir::dash;

SequenceRows dash::readSequence(PtxBuilder &b, Value order, Value sequence, bool isKeyValue) {
  Value record = b.offset(order, b.mul(b.toI64(sequence), 4 * orderSequenceWords));
  int64_t first = orderHeaderWords + int64_t(isKeyValue ? SequenceKvEnd : SequenceQEnd);
  SmallVector<Value> words = hopper::loadWords4Global(b, record, 4 * first);
  return {words[0], words[1], words[2], words[3]};
}

/// The order buffer tells which sequence has the tile.
static void findTileInList(EntryBuilder &b, const Kernels &kernels, QueryTile &tile) {
  Value qTiles = b.parameter("q_tiles"), order = b.parameter("workspace.order");
  Value number = b.remainder(tile.index, qTiles);
  tile.head = b.quotient(tile.index, qTiles);
  tile.batch = b.i32(0);
  Value firstOwner = b.mul(b.add(b.parameter("sequences"), 1), orderSequenceWords);
  Value place = b.add(b.add(firstOwner, number), orderHeaderWords);
  Value owner = hopper::loadWordGlobal(b, b.offset(order, b.mul(b.toI64(place), 4)), 0);
  tile.isThere = b.compare(arith::CmpIPredicate::sge, owner, b.i32(0));
  Value sequence = b.max(owner, b.i32(0));
  SequenceRows queries = readSequence(b, order, sequence, /*isKeyValue=*/false);
  SequenceRows keys = readSequence(b, order, sequence, /*isKeyValue=*/true);
  tile.q = b.sub(number, queries.firstTile);
  tile.rows = queries.rows;
  tile.kvRows = keys.rows;
  tile.kvTiles = b.ceilDiv(keys.rows, kernels.kvTile());
  tile.firstOfList = b.sub(queries.end, queries.rows);
  tile.firstRow = b.mul(tile.q, kernels.qTile());
}

QueryTile dash::queryTileOfBlock(EntryBuilder &b, const Kernels &kernels, Value index) {
  if (!kernels.isList())
    return tileOfBlock(b, "heads", "q_rows", kernels.qTile(), /*pieces=*/1, index);
  QueryTile tile;
  tile.index = index ? index : b.special("ctaid.x");
  findTileInList(b, kernels, tile);
  return tile;
}

QueryTile dash::tileOfBlock(EntryBuilder &b, StringRef heads, StringRef rows, int64_t rowsOfTile,
                            int64_t pieces, Value index) {
  QueryTile tile;
  tile.index = index ? index : b.special("ctaid.x");
  tile.rows = b.parameter(rows);
  Value qTiles = b.ceilDiv(tile.rows, rowsOfTile);
  if (pieces > 1)
    qTiles = b.mul(qTiles, pieces);
  tile.q = b.remainder(tile.index, qTiles);
  Value sequenceHead = b.quotient(tile.index, qTiles);
  tile.head = b.remainder(sequenceHead, b.parameter(heads));
  tile.batch = b.quotient(sequenceHead, b.parameter(heads));
  tile.firstRow = b.mul(pieces > 1 ? b.quotient(tile.q, pieces) : tile.q, rowsOfTile);
  return tile;
}

void dash::whereTileIs(EntryBuilder &b, const QueryTile &tile, llvm::function_ref<void()> body) {
  if (!tile.isThere)
    return body();
  b.ifThen(tile.isThere, body);
}

Value dash::rowOf(EntryBuilder &b, TensorRoleAttr tensor, const QueryTile &tile, Value row) {
  auto stride = [&](StringRef dim) {
    return b.parameter((tensor.getName() + ".stride." + dim).str());
  };
  Value elements =
      b.add(b.mul(b.toI64(tile.batch), stride("batch")), b.mul(b.toI64(tile.head), stride("head")));
  if (tile.firstOfList)
    row = b.add(row, tile.firstOfList);
  // A tensor with one number for each row is contiguous.
  Value rows = tensor.isPerRow() ? b.toI64(row) : b.mul(b.toI64(row), stride("row"));
  int64_t bytes = tensor.getElement().getIntOrFloatBitWidth() / 8;
  return b.offset(b.parameter(tensor.getName()), b.mul(b.add(elements, rows), bytes));
}

Value dash::tileOf(EntryBuilder &b, StringRef region, int64_t bytes, const QueryTile &tile) {
  return b.offset(b.parameter(("workspace." + region).str()), b.mul(b.toI64(tile.index), bytes));
}

Value dash::pairwiseSumOverWarp(PtxBuilder &b, Value f32) {
  for (int64_t distance = 1; distance < threadsOfWarp; distance *= 2)
    f32 = b.add(f32, b.toF32(b.shuffleXor(b.toBits(f32), distance)));
  return f32;
}

Value dash::permutedRow(PtxBuilder &b, Value row) {
  // Row 8j + 2c + e of a block, with bits j2 j1 j0 c1 c0 e, goes to j2 j1 c1 c0 j0 e.
  Value kept = b.bitAnd(row, ~int64_t(0xe));
  Value c = b.shiftLeft(b.bitAnd(row, 6), 1);
  Value j0 = b.shiftRight(b.bitAnd(row, 8), 2);
  return b.bitOr(kept, b.bitOr(c, j0));
}
