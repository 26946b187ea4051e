//===- WorldProblem.cpp - documents that ranks share -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/WorldProblem.h"
#include "Refuse.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir::dash::world;

/// Limits of kernels, and of what fits a plan of 2 GB.
static constexpr int64_t mostRows = 2097152, mostDocuments = 1 << 24, mostRanks = 1 << 16,
                         mostHeads = 65535, mostHeadDim = 128, mostUnits = int64_t(1) << 27;

std::vector<std::vector<HomeRange>> mlir::dash::world::packedHomes(ArrayRef<int64_t> documents,
                                                                   int64_t ranks, int64_t rows) {
  std::vector<std::vector<HomeRange>> homes(ranks);
  int64_t rank = 0, room = rows;
  for (auto [document, length] : llvm::enumerate(documents))
    for (int64_t first = 0; first < length;) {
      if (room == 0 && rank + 1 < ranks) {
        ++rank;
        room = rows;
      }
      // The last rank takes the rest.
      int64_t here = rank + 1 < ranks ? std::min(room, length - first) : length - first;
      homes[rank].push_back({int64_t(document), first, here});
      first += here;
      room -= std::min(room, here);
    }
  return homes;
}

std::vector<std::vector<HomeRange>> mlir::dash::world::zigzagHomes(ArrayRef<int64_t> documents,
                                                                   int64_t ranks) {
  std::vector<std::vector<HomeRange>> homes(ranks);
  for (auto [document, length] : llvm::enumerate(documents))
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t piece : {rank, 2 * ranks - 1 - rank}) {
        int64_t first = length * piece / (2 * ranks), end = length * (piece + 1) / (2 * ranks);
        if (first < end)
          homes[rank].push_back({int64_t(document), first, end - first});
      }
  return homes;
}

llvm::Error World::checkSizes() const {
  const WorldProblem &p = given;
  if (p.documents.empty())
    return refuse("expected at least one document, got none");
  if (int64_t(p.documents.size()) > mostDocuments)
    return refuse("expected at most {0} documents, got {1}", mostDocuments, p.documents.size());
  for (auto [document, rows] : llvm::enumerate(p.documents))
    if (rows < 1 || rows > mostRows)
      return refuse("document {0}: expected from 1 to {1} rows, got {2}", document, mostRows, rows);
  if (p.kvHeads < 1 || p.heads < 1 || p.heads > mostHeads)
    return refuse("expected from 1 to {0} heads and kv heads, got {1} and {2}", mostHeads, p.heads,
                  p.kvHeads);
  if (p.heads % p.kvHeads)
    return refuse("{0} heads are not a multiple of {1} kv heads", p.heads, p.kvHeads);
  if (p.headDim < 8 || p.headDim > mostHeadDim || p.headDim % 8)
    return refuse("worlds have head dims that are multiples of 8 up to {0}, got {1}", mostHeadDim,
                  p.headDim);
  if (p.element != "bf16" && p.element != "f16")
    return refuse("kernels have elements bf16 and f16, got '{0}'", p.element);
  if (!p.isCausal)
    return refuse("a world serves causal documents: a leaf reads all rows in front of its own, and "
                  "no others");
  if (p.ranks < 1 || p.ranks > mostRanks)
    return refuse("expected from 1 to {0} ranks, got {1}", mostRanks, p.ranks);
  if (p.ranksPerNode < 1)
    return refuse("expected at least 1 rank a node, got {0}", p.ranksPerNode);
  if (p.ranks > p.ranksPerNode && p.ranks % p.ranksPerNode)
    return refuse(
        "expected nodes of {0} ranks each, got {1} ranks in all, which leaves a node of {2}",
        p.ranksPerNode, p.ranks, p.ranks % p.ranksPerNode);
  if (!p.speeds.empty() && int64_t(p.speeds.size()) != p.ranks)
    return refuse("expected a speed for each of {0} ranks, got {1}", p.ranks, p.speeds.size());
  for (auto [rank, speed] : llvm::enumerate(p.speeds))
    if (speed < 1 || speed > 1'000'000)
      return refuse("rank {0}: expected a speed from 1 to 1000000 thousandths, got {1}", rank,
                    speed);
  if (p.memory < 0)
    return refuse("expected memory of at least 0 bytes, got {0}", p.memory);
  if (p.kept < keepsAll)
    return refuse("expected at least 0 bytes that are kept, or {0} for all, got {1}", keepsAll,
                  p.kept);
  const WorldPrices &prices = p.prices;
  for (int64_t price : {prices.task, prices.item, prices.launch, prices.phase})
    if (price < 1 || price > 1'000'000'000)
      return refuse("expected prices from 1 to 1000000000 picoseconds, got {0}", price);
  if (prices.workers < 1 || prices.workers > mostHeads)
    return refuse("expected from 1 to {0} workers, got {1}", mostHeads, prices.workers);
  if (!(prices.forward >= 0.01 && prices.forward <= 100))
    return refuse("expected a forward of 0.01 to 100 backwards, got {0}", prices.forward);
  for (double rate : {prices.memory, prices.nvlink, prices.network})
    if (!(rate >= 1 && rate <= 1e6))
      return refuse("expected rates from 1 to 1000000 GB/s, got {0}", rate);
  // Sums of times, multiplied by 1000 for speeds, must fit 64 bits.
  double seconds = 0, folds = 0;
  for (int64_t rows : p.documents) {
    double tiles = double(rows) / 128 + 16;
    seconds += 1e-12 * double(p.kvHeads) *
               (double(p.heads / p.kvHeads) * tiles * tiles * double(prices.task) +
                4 * tiles * double(prices.item) + tiles * double(prices.launch * prices.workers));
    folds += 1e-9 * double(p.kvHeads) * tiles / 4 * double(rows) * 24 * double(p.headDim) /
             prices.memory;
  }
  if (seconds > 9e5 || seconds / double(prices.workers) > 4000 || folds > 4000)
    return refuse("documents that take more than 4000 s by these prices, or whose sums do; use "
                  "fewer documents");
  if (int64_t(p.homes.size()) != p.ranks)
    return refuse("expected homes of {0} ranks, got those of {1}", p.ranks, p.homes.size());
  return llvm::Error::success();
}

llvm::Error World::placeHomes() {
  std::vector<int64_t> count(numDocuments() + 1);
  for (auto [rank, ranges] : llvm::enumerate(given.homes))
    for (const HomeRange &range : ranges) {
      if (range.document < 0 || range.document >= numDocuments())
        return refuse("homes of rank {0}: expected documents 0 to {1}, got {2}", rank,
                      numDocuments() - 1, range.document);
      int64_t length = given.documents[range.document];
      if (range.first < 0 || range.rows < 1 || range.first > length - range.rows)
        return refuse("homes of rank {0}: rows {1} to {2} are not in document {3}, which has {4}",
                      rank, range.first, range.first + range.rows, range.document, length);
      ++count[range.document + 1];
    }
  std::partial_sum(count.begin(), count.end(), count.begin());
  homeBegin = count;
  homes.resize(count.back());
  for (auto [rank, ranges] : llvm::enumerate(given.homes))
    for (const HomeRange &range : ranges)
      homes[count[range.document]++] = {range.first, range.first + range.rows, int32_t(rank)};
  std::vector<int64_t> share;
  for (int64_t document = 0; document < numDocuments(); ++document) {
    auto mine = llvm::MutableArrayRef(homes).slice(homeBegin[document],
                                                   homeBegin[document + 1] - homeBegin[document]);
    llvm::sort(mine, [](const Home &a, const Home &b) { return a.first < b.first; });
    int64_t next = 0;
    for (const Home &home : mine) {
      if (home.first > next)
        return refuse("document {0}: rows {1} to {2} are nowhere at home", document, next,
                      home.first);
      if (home.first < next)
        return refuse(
            "document {0}: rows {1} to {2} are at home twice, the second time on rank {3}",
            document, home.first, std::min(next, home.end), home.rank);
      next = home.end;
    }
    if (next < given.documents[document])
      return refuse("document {0}: rows {1} to {2} are nowhere at home", document, next,
                    given.documents[document]);
    llvm::SmallDenseMap<int32_t, int64_t> rowsOf;
    for (const Home &home : mine)
      rowsOf[home.rank] += home.end - home.first;
    int32_t main = mine.front().rank;
    for (const Home &home : mine)
      if (rowsOf[home.rank] > rowsOf[main])
        main = home.rank;
    mainHomes.push_back(main);
  }
  return llvm::Error::success();
}

int64_t mlir::dash::world::predictLeaf(const WorldPrices &prices, const LeafShape &shape,
                                       int64_t group) {
  // Pairs of tiles on and below the diagonal: two q tiles for each kv tile of rows.
  int64_t above = (shape.context - shape.qRows) / 128, tiles = llvm::divideCeil(shape.context, 128);
  int64_t tasks = group * (tiles * (tiles + 1) - above * (above + 1));
  if (shape.isPacked)
    return int64_t(tailOfPacked *
                   double((tasks * prices.task + tiles * prices.item) / prices.workers));
  int64_t items = 2 * tiles; // with two parts
  return int64_t(tailOfLeaf *
                 double((tasks * prices.task + items * prices.item) / prices.workers)) +
         prices.launch;
}

void World::cutDocuments() {
  const WorldProblem &p = given;
  // Ends are the same in all documents, except the last one.
  int64_t longest = *llvm::max_element(p.documents);
  std::vector<int64_t> shared = cutting.leafEnds(longest + 2 * cutting.leastRows(group()), group());
  std::vector<int64_t> sharedTimes;
  for (size_t leaf = 0; leaf + 1 < shared.size(); ++leaf) {
    int64_t first = leaf ? shared[leaf - 1] : 0;
    sharedTimes.push_back(
        predictLeaf(p.prices, cutting.paddedShape(first, shared[leaf], shared.back()), group()));
  }
  for (int64_t rows : p.documents) {
    int64_t leaf = 0, fewest = cutting.leastRows(group()), first = 0;
    for (; rows - shared[leaf] >= fewest; ++leaf) {
      ends.push_back(shared[leaf]);
      times.push_back(sharedTimes[leaf]);
      first = shared[leaf];
    }
    ends.push_back(rows);
    times.push_back(predictLeaf(p.prices, cutting.paddedShape(first, rows, rows), group()));
    leafBegin.push_back(ends.size());
    for (int64_t i = leafBegin[leafBegin.size() - 2]; i < leafBegin.back(); ++i)
      sumOfTimes += p.kvHeads * times[i];
    sumOfUncut += p.kvHeads *
                  (first == 0 ? times.back() : predictLeaf(p.prices, {rows, rows, false}, group()));
  }
}

llvm::Expected<World> World::get(WorldProblem problem) {
  World world;
  world.given = std::move(problem);
  llvm::Expected<Cut> cut = Cut::get(world.given.cutVersion);
  if (!cut)
    return cut.takeError();
  world.cutting = *cut;
  if (llvm::Error error = world.checkSizes())
    return std::move(error);
  if (llvm::Error error = world.placeHomes())
    return std::move(error);
  world.cutDocuments();
  if (world.numUnits() > mostUnits)
    return refuse("expected at most {0} leaves of all heads and documents, got {1}", mostUnits,
                  world.numUnits());
  return world;
}
