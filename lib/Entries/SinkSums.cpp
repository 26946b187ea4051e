//===- SinkSums.cpp - the gradient of a sink, from runs of rows -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SinkSums.h"
#include "dash/Entries/Regions.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/TargetDescription.h"

using namespace mlir;
using namespace mlir::dash;

/// One warp adds all runs of rows of a head, from its first tile on: each lane takes every 32nd
/// run, one after the other.
static void sumSink(EntryBuilder &b, const Kernels &kernels, Value thread, const QueryTile &tile) {
  Value tiles = b.ceilDiv(tile.rows, kernels.qTile());
  Value count = b.mul(tiles, sinkRuns(kernels.qTile())), last = b.add(count, -1);
  Value runs = tileOf(b, sinkRegion, 4 * sinkRuns(kernels.qTile()), tile);
  Value sum = b.forEach(b.i32(0), count, b.i32(threadsOfWarp), b.f32(0),
                        [&](Value first, ValueRange carried) -> SmallVector<Value> {
                          Value run = b.add(first, b.laneOf(thread));
                          Value place = b.offset(runs, b.mul(b.toI64(b.min(run, last)), 4));
                          Value number = b.load(b.getF32Type(), place, 4);
                          number = b.choose(b.below(run, count), number, b.f32(0));
                          return {b.add(carried.front(), number)};
                        })
                  .front();
  sum = b.negate(pairwiseSumOverWarp(b, sum));
  StringRef name = kernels.program.findTensor(TensorKind::SequenceHead).getName();
  Value batch = b.mul(b.toI64(tile.batch), b.parameter((name + ".stride.batch").str()));
  Value place = b.mul(b.add(batch, b.toI64(tile.head)), 4);
  b.inOneLane(thread, [&] { b.store(sum, b.offset(b.parameter(name), place), 4); });
}

/// A warp of a head's first block does it. For a list, blocks take its sequences in turn, whatever
/// tiles they have: an empty sequence has none.
void dash::sumSinks(EntryBuilder &b, const Kernels &kernels, Value thread, const QueryTile &tile) {
  if (!kernels.isList())
    return b.ifThen(b.both(b.equal(tile.q, 0), b.below(thread, threadsOfWarp)),
                    [&] { sumSink(b, kernels, thread, tile); });
  Value tilesOfHead = b.parameter("q_tiles"), place = b.remainder(tile.index, tilesOfHead);
  Value firstOfHead = b.sub(tile.index, place), sequences = b.parameter("sequences");
  auto sumOne = [&](Value sequence, ValueRange) -> SmallVector<Value> {
    SequenceRows queries =
        readSequence(b, b.parameter("workspace.order"), sequence, /*isKeyValue=*/false);
    QueryTile first = tile;
    first.index = b.add(firstOfHead, queries.firstTile);
    first.batch = sequence;
    first.rows = queries.rows;
    sumSink(b, kernels, thread, first);
    return {};
  };
  b.ifThen(b.below(thread, threadsOfWarp),
           [&] { b.forEach(place, sequences, tilesOfHead, ValueRange{}, sumOne); });
}
