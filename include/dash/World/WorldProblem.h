//===- WorldProblem.h - documents that ranks share --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_WORLD_WORLDPROBLEM_H
#define DASH_WORLD_WORLDPROBLEM_H

#include "dash/World/Cut.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::dash::world {

using llvm::ArrayRef;
using llvm::StringRef;

/// Rows [first, first + rows) of a document, in their order on a rank.
struct HomeRange {
  int64_t document = 0, first = 0, rows = 0;
};

/// The prices of a machine. Times are whole picoseconds, so sums of them are the same on every
/// machine.
struct WorldPrices {
  int64_t headDim = 0; ///< of the measurement of `task` and `item`; 0 if unknown
  int64_t task = 0;    ///< of a pair of tiles of 64 x 128 rows: compute on one of `workers`
  int64_t item = 0;    ///< of a kv tile and part: the boundary, and its pieces of dK and dV
  int64_t workers = 132;
  int64_t launch = 30'000'000;
  double forward = 0.4;       ///< a forward's share of a backward: two of five products
  double memory = 4300;       ///< GB/s of a GPU's memory
  double nvlink = 450;        ///< GB/s into and out of a GPU, within a node
  double network = 50;        ///< the same across nodes
  int64_t phase = 30'000'000; ///< latency of an exchange

  /// The costs that come with dash, for a head dim; or those of a file of costs.
  static llvm::Expected<WorldPrices> get(int64_t headDim, StringRef costsFile = "");
};

/// The value of `WorldProblem::kept` with which everything stays.
constexpr int64_t keepsAll = -1;

/// Documents, the places of their rows, and the ranks that compute.
struct WorldProblem {
  std::vector<int64_t> documents; ///< lengths in rows
  int64_t heads = 32, kvHeads = 8, headDim = 128;
  std::string element = "bf16";
  bool isCausal = true;
  int64_t cutVersion = 1;
  int64_t ranks = 1, ranksPerNode = 8;
  std::vector<std::vector<HomeRange>> homes; ///< for each rank, in the order of its rows
  /// The speed of each rank, in thousandths of the usual; empty: all are usual.
  std::vector<int64_t> speeds;
  int64_t memory = 0; ///< bytes available for a rank's buffers; 0: any
  /// Bytes of Q, K, V and LSE of rows from elsewhere that may stay with a server from a forward to
  /// its backward, which then sends only dO and delta; `keepsAll`: any.
  int64_t kept = 0;
  WorldPrices prices;
};

/// `rows` rows for each rank, document after document; the last rank takes the rest.
std::vector<std::vector<HomeRange>> packedHomes(ArrayRef<int64_t> documents, int64_t ranks,
                                                int64_t rows);
/// For each document, rank r has pieces r and 2 `ranks` - 1 - r of 2 `ranks` pieces, like context
/// parallelism in frameworks.
std::vector<std::vector<HomeRange>> zigzagHomes(ArrayRef<int64_t> documents, int64_t ranks);

/// Rows of a document on a rank.
struct Home {
  int64_t first, end;
  int32_t rank;
};

/// A well-formed problem, and what follows from it.
class World {
public:
  /// Fails with what was expected and found.
  static llvm::Expected<World> get(WorldProblem problem);

  const WorldProblem &problem() const { return given; }
  const Cut &cut() const { return cutting; }
  int64_t group() const { return given.heads / given.kvHeads; }
  int64_t numDocuments() const { return given.documents.size(); }
  int64_t nodeOf(int64_t rank) const { return rank / given.ranksPerNode; }
  int64_t speedOf(int64_t rank) const { return given.speeds.empty() ? 1000 : given.speeds[rank]; }

  int64_t numLeaves(int64_t document) const {
    return leafBegin[document + 1] - leafBegin[document];
  }
  int64_t leafEnd(int64_t document, int64_t leaf) const { return ends[leafBegin[document] + leaf]; }
  int64_t leafFirst(int64_t document, int64_t leaf) const {
    return leaf ? leafEnd(document, leaf - 1) : 0;
  }
  /// Picoseconds of a backward of one kv head.
  int64_t leafTime(int64_t document, int64_t leaf) const {
    return times[leafBegin[document] + leaf];
  }

  /// Leaves of all heads of all documents are numbered: document, kv head, leaf.
  int64_t numUnits() const { return given.kvHeads * int64_t(ends.size()); }
  int64_t firstUnit(int64_t document, int64_t kvHead) const {
    return leafBegin[document] * given.kvHeads + kvHead * numLeaves(document);
  }

  /// The places of a document's rows, first row first.
  ArrayRef<Home> homesOf(int64_t document) const {
    return ArrayRef(homes).slice(homeBegin[document],
                                 homeBegin[document + 1] - homeBegin[document]);
  }
  /// The rank with the largest share of a document; the first one if shares are equal.
  int32_t mainHome(int64_t document) const { return mainHomes[document]; }

  /// The time of a backward of all documents, and of one without cuts: pairs of tiles and
  /// boundaries, with all workers always busy.
  int64_t totalTime() const { return sumOfTimes; }
  int64_t uncutTime() const { return sumOfUncut; }

private:
  World() = default;
  llvm::Error checkSizes() const;
  llvm::Error placeHomes();
  void cutDocuments();

  WorldProblem given;
  Cut cutting = {};
  std::vector<int64_t> leafBegin = {0}, ends, times;
  std::vector<int64_t> homeBegin = {0};
  std::vector<Home> homes;
  std::vector<int32_t> mainHomes;
  int64_t sumOfTimes = 0, sumOfUncut = 0;
};

/// The factor on a launch's time on all workers, if its order was searched for, and if short
/// documents share it.
constexpr double tailOfLeaf = 1.02, tailOfPacked = 1.14;

/// The time of a leaf's backward on all workers; includes the launch unless it is packed.
int64_t predictLeaf(const WorldPrices &prices, const LeafShape &shape, int64_t group);

} // namespace mlir::dash::world

#endif // DASH_WORLD_WORLDPROBLEM_H
