//===- AddContributions.cpp - sums of contributions kept apart ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds contributions in the order of their turns, as `dash.ordered_reduce` does. Each sum depends
// on the one before, but no load does, so several turns are loaded at once. A block has only as
// much of a tile as four lanes hold.
//
//===----------------------------------------------------------------------===//

#include "Rounded.h"
#include "dash/Entries/Regions.h"
#include "dash/Hopper/HopperOps.h"

using namespace mlir;
using namespace mlir::dash;

/// Turns whose loads are in flight at once.
constexpr int64_t turnsAtOnce = 4;

SmallVector<SmallVector<Value>> dash::loadChunks(PtxBuilder &b, Value first, int64_t count,
                                                 bool isWritten) {
  SmallVector<SmallVector<Value>> words;
  for (int64_t i : llvm::seq(count)) {
    Value chunk = b.offset(first, FragmentAttr::getChunkOffset(i));
    words.push_back(isWritten ? b.streamInWritten(chunk) : b.streamIn(chunk));
  }
  return words;
}

/// The first contribution is taken as it is; a tile without contributions is zero.
SmallVector<SmallVector<Value>> dash::addContributions(EntryBuilder &b, const Rounded &one,
                                                       const Kernels &kernels, Value place,
                                                       Value hasRows) {
  int64_t chunksOfLine = one.chunksOfLine(), numWords = chunksOfLine * FragmentAttr::wordsOfChunk;
  Value index = b.toI64(one.tile.index);
  Value turns = b.parameter("workspace." + turnsRegion(one.tensor));
  Value count = b.load(b.getI32Type(), b.offset(turns, b.mul(index, 4)), 4);
  count = b.choose(hasRows, count, b.i32(0));
  Value slots = one.tensor.isKeyValue()
                    ? b.i64(kernels.parts())
                    : b.toI64(b.ceilDiv(b.parameter("kv_rows"), kernels.kvTile()));
  Value first = b.offset(b.parameter("workspace." + contributionsRegion(one.tensor)),
                         b.mul(b.mul(index, slots), one.bytes()));
  first = b.offset(first, place);
  Value last = b.add(count, -1);
  auto addSome = [&](Value turn, ValueRange carried) {
    SmallVector<SmallVector<Value>> loaded;
    for (int64_t i : llvm::seq(turnsAtOnce)) {
      Value at = b.toI64(b.min(b.add(turn, i), last));
      for (SmallVector<Value> &chunk :
           loadChunks(b, b.offset(first, b.mul(at, one.bytes())), chunksOfLine))
        loaded.push_back(std::move(chunk));
    }
    SmallVector<Value> sums(carried);
    for (int64_t i : llvm::seq(turnsAtOnce)) {
      Value isThere = b.below(b.add(turn, i), count), isFirst = b.equal(b.add(turn, i), 0);
      for (int64_t word : llvm::seq(numWords)) {
        Value term = b.toF32(loaded[i * chunksOfLine + word / FragmentAttr::wordsOfChunk]
                                   [word % FragmentAttr::wordsOfChunk]);
        Value sum = hopper::addFlushed(b, sums[word], term);
        if (i == 0) // only round 0 contains the first turn
          sum = b.choose(isFirst, term, sum);
        sums[word] = b.choose(isThere, sum, sums[word]);
      }
    }
    return sums;
  };
  SmallVector<Value> zeros(numWords, b.f32(0));
  SmallVector<Value> sums = b.forEach(b.i32(0), count, b.i32(turnsAtOnce), zeros, addSome);
  SmallVector<SmallVector<Value>> words(chunksOfLine);
  for (auto [i, sum] : llvm::enumerate(sums))
    words[i / FragmentAttr::wordsOfChunk].push_back(b.toBits(sum));
  return words;
}
