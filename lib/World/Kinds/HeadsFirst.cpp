//===- HeadsFirst.cpp - documents at home, long ones head by head ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. A document of one leaf stays at home while that rank has less than its share; the longest
//    leave first, head by head.
// 2. These and all longer documents form a pool. They fill nodes, the largest first, each kv head's
//    leaves in sequence: first the nodes that have their rows, then neighbouring ones. Heads are
//    cut between nodes at leaf numbers with many factors of two, so that few sums cross the
//    network.
// 3. Documents of one leaf move between nodes until all are equally full: they have no sums to
//    send.
// 4. Within a node, leaves follow each other from rank to rank, and single ones move until ranks
//    are equally full.
//
//===----------------------------------------------------------------------===//

#include "../Balance.h"
#include "../Exchange.h"
#include "dash/World/WorldKinds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::dash::world;

namespace {

/// How much more than an even share a rank may have before leaves move.
constexpr double slack = 1.008;

class Placement {
public:
  /// `folds` is the work of ranks apart from leaves and the folds that these bring along.
  Placement(const World &world, ArrayRef<int64_t> folds)
      : world(world), perNode(std::min(world.problem().ranksPerNode, world.problem().ranks)),
        owners(world.numUnits(), -1), folds(folds), load(folds.begin(), folds.end()),
        nodes(world.problem().ranks / perNode) {
    double work = 0, speeds = 0;
    for (int64_t document = 0; document < world.numDocuments(); ++document)
      for (int64_t leaf = 0; leaf < world.numLeaves(document); ++leaf)
        work += double(unitTime(world, document, leaf)) * double(world.problem().kvHeads);
    for (int64_t rank = 0; rank < world.problem().ranks; ++rank)
      speeds += double(world.speedOf(rank)) / 1000;
    even = work / speeds;
    for (int64_t rank = 0; rank < world.problem().ranks; ++rank) {
      nodes[rank / perNode].share += share(rank);
      nodes[rank / perNode].load += load[rank];
    }
  }

  Owners place() {
    keepAtHome();
    std::vector<std::pair<int64_t, int64_t>> pool;
    for (int64_t document = 0; document < world.numDocuments(); ++document) {
      int64_t left = 0;
      forEachUnit(document,
                  [&](const Piece &piece) { left += owners[piece.number] < 0 ? piece.time : 0; });
      if (left > 0)
        pool.push_back({-left, document});
    }
    llvm::sort(pool);
    for (auto [left, document] : pool)
      fillNodes(document);
    balanceNodes();
    for (Host &node : nodes)
      fillRanks(node);
    return std::move(owners);
  }

  /// Starts from given owners, and moves leaves within nodes only.
  Owners balanceRanks(Owners from) {
    owners = std::move(from);
    for (int64_t document = 0; document < world.numDocuments(); ++document)
      forEachUnit(document, [&](const Piece &piece) {
        Host &node = nodes[owners[piece.number] / perNode];
        node.kept.push_back(piece);
        node.load += piece.time;
      });
    for (Host &node : nodes)
      balanceRanks(node);
    return std::move(owners);
  }

private:
  struct Piece : Unit {
    int64_t leaf;
    bool isWhole; ///< it has one leaf only
  };
  struct Host {
    int64_t share = 0, load = 0;
    std::vector<Piece> kept, filled; ///< already on ranks, in `owners`; not yet on ranks
  };

  int64_t share(int64_t rank) const { return int64_t(even * double(world.speedOf(rank)) / 1000); }

  template <typename Visit> void forEachUnit(int64_t document, Visit visit) const {
    int64_t leaves = world.numLeaves(document), number = world.firstUnit(document, 0);
    for (int64_t head = 0; head < world.problem().kvHeads; ++head)
      for (int64_t leaf = 0; leaf < leaves; ++leaf, ++number) {
        Piece piece;
        piece.number = number;
        piece.time = unitTime(world, document, leaf);
        piece.leaf = leaf;
        piece.isWhole = leaves == 1;
        visit(piece);
      }
  }

  void keepAtHome() {
    std::vector<std::pair<int64_t, int64_t>> byTime;
    for (int64_t document = 0; document < world.numDocuments(); ++document)
      if (world.numLeaves(document) == 1)
        byTime.push_back({world.leafTime(document, 0), document});
    llvm::sort(byTime);
    for (auto [time, document] : byTime) {
      int32_t rank = world.mainHome(document);
      Host &node = nodes[rank / perNode];
      forEachUnit(document, [&](const Piece &piece) {
        if (load[rank] + piece.time / 2 > share(rank))
          return;
        owners[piece.number] = rank;
        load[rank] += piece.time;
        node.load += piece.time;
        node.kept.push_back(piece);
      });
    }
  }

  /// Visits nodes in the order in which a document takes them: those that have its rows, then their
  /// neighbours.
  template <typename Visit> void visitNodes(int64_t document, Visit visit) const {
    int64_t low = nodes.size(), high = 0, count = nodes.size();
    for (const Home &home : world.homesOf(document)) {
      low = std::min<int64_t>(low, home.rank / perNode);
      high = std::max<int64_t>(high, home.rank / perNode);
    }
    for (int64_t node = low; node <= high; ++node)
      if (!visit(node))
        return;
    while (low > 0 || high + 1 < count) {
      if (high + 1 < count && !visit(++high))
        return;
      if (low > 0 && !visit(--low))
        return;
    }
  }

  void fillNodes(int64_t document) {
    std::vector<Piece> pieces;
    forEachUnit(document, [&](const Piece &piece) {
      if (owners[piece.number] < 0)
        pieces.push_back(piece);
    });
    ArrayRef<Piece> rest = pieces;
    auto take = [&](Host &node, size_t count) {
      for (const Piece &piece : rest.take_front(count)) {
        node.load += piece.time;
        node.filled.push_back(piece);
      }
      rest = rest.drop_front(count);
    };
    // Starts with a quarter of a document, so that a head in two nodes leaves few sums. If that
    // fits nowhere, takes any size.
    int64_t coarse = std::max<int64_t>(1, llvm::bit_floor(uint64_t(world.numLeaves(document))) / 4);
    for (int64_t grain : {coarse, int64_t(1)})
      if (!rest.empty())
        visitNodes(document, [&](int64_t number) {
          take(nodes[number], countFor(nodes[number], rest, grain));
          return !rest.empty();
        });
    // No node has room for half a piece: takes the emptiest one.
    while (!rest.empty())
      take(*std::min_element(nodes.begin(), nodes.end(),
                             [&](const Host &a, const Host &b) {
                               return double(a.load + rest.front().time) / double(a.share) <
                                      double(b.load + rest.front().time) / double(b.share);
                             }),
           1);
  }

  /// How many of the pieces a node takes to be full, with at most half a piece too much. A head is
  /// cut at a multiple of `grain` leaves, or not at all.
  size_t countFor(const Host &node, ArrayRef<Piece> pieces, int64_t grain) const {
    int64_t room = node.share - node.load;
    size_t count = 0;
    for (size_t i = 0; i < pieces.size() && room >= pieces[i].time / 2; ++i) {
      room -= pieces[i].time;
      // Between two heads, and after the last one, there is no cut.
      if (i + 1 == pieces.size() || pieces[i + 1].leaf % grain == 0)
        count = i + 1;
    }
    return count;
  }

  void balanceNodes() {
    Bins bins;
    std::vector<std::pair<int64_t, bool>> from; // index of a piece, and whether it is on a rank
    for (Host &node : nodes) {
      bins.speeds.push_back(std::max<int64_t>(1, int64_t(double(node.share) / even * 1000)));
      bins.fixed.push_back(node.load);
      for (std::vector<Piece> *pieces : {&node.kept, &node.filled})
        for (const Piece &piece : *pieces)
          if (piece.isWhole) {
            bins.units.push_back(piece);
            bins.bin.push_back(bins.speeds.size() - 1);
            bins.fixed.back() -= piece.time;
          }
    }
    std::vector<int32_t> before = bins.bin;
    balance(bins, int64_t(even * (1 + (slack - 1) / 2)));
    for (auto [unit, old, now] : llvm::zip_equal(bins.units, before, bins.bin)) {
      if (old == now)
        continue;
      auto isIt = [number = unit.number](const Piece &piece) { return piece.number == number; };
      llvm::erase_if(nodes[old].kept, isIt);
      llvm::erase_if(nodes[old].filled, isIt);
      Piece piece;
      piece.number = unit.number;
      piece.time = unit.time;
      piece.leaf = 0;
      piece.isWhole = true;
      nodes[now].filled.push_back(piece);
      if (int32_t &owner = owners[unit.number]; owner >= 0) {
        load[owner] -= unit.time;
        owner = -1;
      }
      nodes[old].load -= unit.time;
      nodes[now].load += unit.time;
    }
  }

  void fillRanks(Host &node) {
    int64_t first = (&node - nodes.data()) * perNode, rank = first;
    // An even share of the node's work.
    auto full = [&](int64_t rank) {
      return int64_t(double(node.load) * double(share(rank)) /
                     double(std::max<int64_t>(1, node.share)));
    };
    for (const Piece &piece : node.filled) {
      while (rank + 1 < first + perNode && load[rank] + piece.time / 2 > full(rank))
        ++rank;
      owners[piece.number] = rank;
      load[rank] += piece.time;
    }
    node.kept.insert(node.kept.end(), node.filled.begin(), node.filled.end());
    balanceRanks(node);
  }

  void balanceRanks(Host &node) {
    int64_t first = (&node - nodes.data()) * perNode;
    Bins bins;
    for (int64_t rank = first; rank < first + perNode; ++rank) {
      bins.fixed.push_back(folds[rank]);
      bins.speeds.push_back(world.speedOf(rank));
    }
    for (const Piece &piece : node.kept) {
      bins.units.push_back(piece);
      bins.bin.push_back(owners[piece.number] - first);
    }
    double evenHere = even * double(node.load) / double(std::max<int64_t>(1, node.share));
    balance(bins, int64_t(std::max(even * slack, evenHere * (1 + (slack - 1) / 2))));
    for (auto [unit, bin] : llvm::zip_equal(bins.units, bins.bin))
      owners[unit.number] = first + bin;
  }

  const World &world;
  int64_t perNode;
  Owners owners;
  ArrayRef<int64_t> folds;
  std::vector<int64_t> load;
  std::vector<Host> nodes;
  double even = 0; ///< a rank's time at usual speed if all are equally full
};

} // namespace

/// The work of ranks apart from leaves and the folds that these bring along (`unitTime`).
static std::vector<int64_t> otherFolds(const World &world, const Owners &owners) {
  WorldPlan plan;
  Exchange(world, owners, plan).planFolds();
  std::vector<int64_t> folds = foldTimes(world, plan.folds);
  for (int64_t document = 0, unit = 0; document < world.numDocuments(); ++document)
    for (int64_t head = 0; head < world.problem().kvHeads; ++head)
      for (int64_t leaf = 0; leaf < world.numLeaves(document); ++leaf, ++unit)
        folds[owners[unit]] -= unitTime(world, document, leaf) - world.leafTime(document, leaf);
  return folds;
}

static Owners place(const World &world, uint64_t) {
  std::vector<int64_t> folds(world.problem().ranks);
  Owners owners = Placement(world, folds).place();
  // The folding ranks are known only once leaves are placed. So the leaves are placed again, and
  // moved within their nodes.
  for (int round = 0; round < 2; ++round) {
    folds = otherFolds(world, owners);
    Placement again(world, folds);
    owners = round == 0 ? again.place() : again.balanceRanks(std::move(owners));
  }
  return owners;
}

namespace mlir::dash::world::kinds {
extern const WorldKind HeadsFirst = {
    "heads-first", "short documents at home, long ones head by head on ranks beside each other",
    place};
} // namespace mlir::dash::world::kinds
