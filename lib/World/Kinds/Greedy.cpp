//===- Greedy.cpp - the policy of DistCA -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows begin at home. Rows of a document, with their whole context and all heads, move from ranks
// with too much work to ranks with too little. Each step serves the emptiest rank and moves the
// rows with the most work for each byte, until all ranks are within a tolerance (DistCA, 2025).
// This kind has no prices of kernels: work is counted in pairs of rows.
//
//===----------------------------------------------------------------------===//

#include "../Compare.h"
#include "dash/World/WorldKinds.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::dash::world;

namespace {
struct Rows {
  int64_t document, first, end;
  int32_t home, rank;
  double pairs() const { return double(end - first) * double(end + first) / 2; }
};
} // namespace

/// The first row of the last `pairs` pairs of rows before `end`.
static int64_t beginOf(int64_t end, double pairs) {
  double rest = double(end) * double(end) - 2 * pairs;
  int64_t root = 0;
  for (int64_t bit = int64_t(1) << 21; bit; bit >>= 1)
    if (double(root + bit) * double(root + bit) <= rest)
      root += bit;
  return root;
}

static double bytesOfMoving(const World &world, int64_t first, int64_t end) {
  int64_t heads = world.problem().kvHeads;
  return double(bytesOf(world, Q | DO | LSE | Delta | DQ, heads, end - first) +
                bytesOf(world, K | V | DK | DV, heads, end));
}

static std::vector<Rows> balance(const World &world) {
  constexpr double tolerance = 0.01;
  int64_t ranks = world.problem().ranks;
  std::vector<Rows> all;
  std::vector<double> load(ranks);
  double total = 0, speeds = 0;
  for (int64_t document = 0; document < world.numDocuments(); ++document)
    for (const Home &home : world.homesOf(document)) {
      all.push_back({document, home.first, home.end, home.rank, home.rank});
      load[home.rank] += all.back().pairs();
      total += all.back().pairs();
    }
  for (int64_t rank = 0; rank < ranks; ++rank)
    speeds += double(world.speedOf(rank));
  auto share = [&](int64_t rank) { return total / speeds * double(world.speedOf(rank)); };
  for (int64_t steps = 0; steps < 64 * ranks; ++steps) {
    int64_t to = 0;
    auto room = [&](int64_t rank) { return (share(rank) - load[rank]) / share(rank); };
    for (int64_t rank = 1; rank < ranks; ++rank)
      if (room(rank) > room(to))
        to = rank;
    if (room(to) <= tolerance)
      break;
    int64_t best = -1, bestFirst = 0;
    double most = 0;
    for (auto [i, rows] : llvm::enumerate(all)) {
      double surplus = load[rows.rank] - share(rows.rank);
      if (surplus <= 0)
        continue;
      double pairs = std::min({surplus, share(to) - load[to], rows.pairs()});
      int64_t first = std::max(rows.first, beginOf(rows.end, pairs));
      if (first == rows.end)
        continue;
      double worth = Rows{0, first, rows.end, 0, 0}.pairs() / bytesOfMoving(world, first, rows.end);
      if (worth > most)
        most = worth, best = i, bestFirst = first;
    }
    if (best < 0)
      break;
    Rows moved = all[best];
    moved.first = bestFirst;
    load[moved.rank] -= moved.pairs();
    load[to] += moved.pairs();
    moved.rank = to;
    all[best].end = bestFirst;
    if (all[best].first == all[best].end)
      all[best] = moved;
    else
      all.push_back(moved);
  }
  return all;
}

/// How much of a document's context each rank has.
using Contexts = llvm::DenseMap<std::pair<int32_t, int64_t>, int64_t>;

static PassLoad estimate(const World &world) {
  PassLoad load = emptyLoad(world);
  int64_t heads = world.problem().kvHeads;
  Contexts contexts;
  auto exchange = [&](int32_t home, int32_t server, uint32_t in, uint32_t out, int64_t rows) {
    if (home == server || rows <= 0)
      return;
    load.phases[0].add(world, home, server, bytesOf(world, in, heads, rows));
    load.phases[1].add(world, server, home, bytesOf(world, out, heads, rows));
  };
  for (const Rows &rows : balance(world)) {
    load.compute[rows.rank] += rowsTime(world, rows.first, rows.end);
    exchange(rows.home, rows.rank, Q | DO | LSE | Delta, DQ, rows.end - rows.first);
    int64_t &known = contexts[{rows.rank, rows.document}];
    for (const Home &home : world.homesOf(rows.document))
      exchange(home.rank, rows.rank, K | V, DK | DV,
               std::min(home.end, rows.end) - std::max(home.first, known));
    known = std::max(known, rows.end);
  }
  for (int64_t rank = 0; rank < world.problem().ranks; ++rank)
    load.compute[rank] =
        (load.compute[rank] + world.problem().prices.launch) * 1000 / world.speedOf(rank);
  return load;
}

namespace mlir::dash::world::kinds {
extern const WorldKind Greedy = {
    "greedy", "rows with their context from full ranks to empty ones, most work for a byte first",
    nullptr, estimate};
} // namespace mlir::dash::world::kinds
