//===- Exchange.cpp - which rows travel to a leaf, and back ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Q, dO, LSE and delta go from their home to the one rank that computes their leaf, and the results
// come back. K and V go once to each node that reads them: to a rank that reads them itself and
// passes them on within the node.
//
//===----------------------------------------------------------------------===//

#include "Exchange.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::dash::world;

void Exchange::plan() {
  const WorldProblem &problem = world.problem();
  for (document = 0; document < world.numDocuments(); ++document) {
    leaves = world.numLeaves(document);
    auto ofHead = [&](int64_t head) {
      return ArrayRef(owners).slice(world.firstUnit(document, head), leaves);
    };
    for (kvHead = 0; kvHead < problem.kvHeads; kvHead += kvHeads) {
      ranks = ofHead(kvHead);
      areKept = kept.has(document, kvHead);
      for (kvHeads = 1; kvHead + kvHeads < problem.kvHeads && ofHead(kvHead + kvHeads) == ranks &&
                        kept.has(document, kvHead + kvHeads) == areKept;)
        ++kvHeads;
      planHeads();
    }
  }
  for (std::vector<Fold> &stage : folds)
    result.folds.insert(result.folds.end(), stage.begin(), stage.end());
}

void Exchange::planHeads() {
  ArrayRef<Home> homes = world.homesOf(document);
  if (leaves == 1 && homes.size() == 1 && homes.front().rank == ranks.front())
    return; // all of it is at home
  if (onlyFolds) {
    if (leaves > 1)
      planSums();
    return;
  }
  served.clear();
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    int64_t end = world.leafEnd(document, leaf);
    if (leaf > 0 && served.back().rank == ranks[leaf])
      served.back().endRow = end;
    else
      served.push_back({ranks[leaf], world.leafFirst(document, leaf), end});
  }
  sendQueries();
  sendContext();
  planSums();
}

void Exchange::sendTo(Phase &phase, uint32_t what, int32_t from, int32_t to, int64_t first,
                      int64_t end, Node node) {
  if (from != to && first < end && !onlyFolds)
    phase.messages.push_back({from, to, what, document, kvHead, kvHeads, first, end, node});
}

void Exchange::sendQueries() {
  for (const Served &run : served)
    for (const Home &home : world.homesOf(document)) {
      int64_t first = std::max(run.firstRow, home.first), end = std::min(run.endRow, home.end);
      sendTo(result.forward[ForwardInputs], Q, home.rank, run.rank, first, end);
      sendTo(result.forward[ForwardOutputs], O | LSE, run.rank, home.rank, first, end);
      sendTo(result.backward[BackwardInputs], areKept ? DO | Delta : Q | DO | LSE | Delta,
             home.rank, run.rank, first, end);
      sendTo(result.backward[Gradients], DQ, run.rank, home.rank, first, end);
    }
}

void Exchange::sendContext() {
  // A rank reads the context of its last leaf, which includes the contexts of its other leaves.
  readers.clear();
  for (const Served &run : served)
    readers.push_back({run.rank, run.endRow});
  llvm::sort(readers, [](const Reader &a, const Reader &b) {
    return std::pair(a.rank, a.rows) < std::pair(b.rank, b.rows);
  });
  size_t count = 0;
  for (const Reader &reader : readers)
    if (count > 0 && readers[count - 1].rank == reader.rank)
      readers[count - 1].rows = reader.rows;
    else
      readers[count++] = reader;
  readers.resize(count);
  for (const Home &home : world.homesOf(document))
    for (size_t begin = 0, end; begin < readers.size(); begin = end) {
      int64_t node = world.nodeOf(readers[begin].rank);
      for (end = begin + 1; end < readers.size() && world.nodeOf(readers[end].rank) == node;)
        ++end;
      relay(home, ArrayRef(readers).slice(begin, end - begin));
    }
}

void Exchange::relay(const Home &home, ArrayRef<Reader> inNode) {
  auto send = [&](ForwardPhase forward, BackwardPhase backward, int32_t from,
                  const Reader &reader) {
    int64_t end = std::min(home.end, reader.rows);
    sendTo(result.forward[forward], K | V, from, reader.rank, home.first, end);
    if (!areKept)
      sendTo(result.backward[backward], K | V, from, reader.rank, home.first, end);
  };
  if (world.nodeOf(home.rank) == world.nodeOf(inNode.front().rank)) {
    for (const Reader &reader : inNode)
      send(ForwardInputs, BackwardInputs, home.rank, reader);
    return;
  }
  int64_t most = 0;
  for (const Reader &reader : inNode)
    most = std::max(most, reader.rows);
  // The ranks that read everything the node reads take turns, home by home.
  auto readsAll = [&](const Reader &reader) { return reader.rows >= std::min(home.end, most); };
  int64_t turn = home.rank % llvm::count_if(inNode, readsAll);
  const Reader *relay = nullptr;
  for (const Reader &reader : inNode)
    if (readsAll(reader) && turn-- == 0)
      relay = &reader;
  send(ForwardInputs, BackwardInputs, home.rank, *relay);
  for (const Reader &reader : inNode)
    if (&reader != relay)
      send(ForwardRelays, BackwardRelays, relay->rank, reader);
}
